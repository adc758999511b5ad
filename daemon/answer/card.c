#include "daemon/answer/card.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "memory/lexical/sentences.h"
#include "memory/snapshot/content.h"

const char *const card_field_names[CARD_FIELDS] = {[CARD_ABOUT] = "about",
                                                   [CARD_DEFAULT] = "default",
                                                   [CARD_VALUES] = "values",
                                                   [CARD_CHANGE] = "change"};

enum {
    MAX_PIECE = 400,  /* bytes */
    MIN_ABOUT = 20,   /* bytes: less is a label */
    NEAR = 8,         /* blocks of an entry that are about it as a whole */
    MAX_OF_FIELD = 8, /* pieces */
    MAX_TITLE = 200,  /* bytes */
    RIVALS = 5,       /* sections among which no other may be called the same */
    MAX_ORIGIN = 1 << 16
};

/* ---- What a text tells ---- */

struct sign {
    const char *text; /* in lower case */
    enum card_field field;
};

/* Begins an item, a cell or a paragraph, and a colon follows. */
static const struct sign labels[] = {
    {"default", CARD_DEFAULT},       {"default value", CARD_DEFAULT},
    {"initial value", CARD_DEFAULT}, {"type", CARD_VALUES},
    {"units", CARD_VALUES},          {"unit", CARD_VALUES},
    {"minimum", CARD_VALUES},        {"maximum", CARD_VALUES},
    {"range", CARD_VALUES},          {"valid values", CARD_VALUES},
    {"allowed values", CARD_VALUES}, {"possible values", CARD_VALUES},
    {"values", CARD_VALUES},         {"grammar", CARD_VALUES},
    {"syntax", CARD_VALUES},         {"context", CARD_CHANGE},
    {"blocks", CARD_CHANGE},         {"use", CARD_CHANGE},
    {"flags", CARD_CHANGE},          {"scope", CARD_CHANGE}};

/* Stands in a sentence. */
static const struct sign phrases[] = {{"default is", CARD_DEFAULT},
                                      {"default value is", CARD_DEFAULT},
                                      {"default setting is", CARD_DEFAULT},
                                      {"defaults to", CARD_DEFAULT},
                                      {"is the default", CARD_DEFAULT},
                                      {"can only be set", CARD_CHANGE},
                                      {"can only be changed", CARD_CHANGE},
                                      {"can be changed at", CARD_CHANGE},
                                      {"at server start", CARD_CHANGE},
                                      {"requires a restart", CARD_CHANGE},
                                      {"must be restarted", CARD_CHANGE},
                                      {"valid values", CARD_VALUES},
                                      {"allowed values", CARD_VALUES},
                                      {"possible values", CARD_VALUES},
                                      {"permitted values", CARD_VALUES},
                                      {"acceptable values", CARD_VALUES},
                                      {"accepted values", CARD_VALUES},
                                      {"may not exceed", CARD_VALUES},
                                      {"specified without units", CARD_VALUES},
                                      {"must be between", CARD_VALUES}};

static const char *find_text(struct slice text, const char *wanted)
{
    size_t size = strlen(wanted);
    for (size_t at = 0; at + size <= text.size; at++)
        if (!strncasecmp(text.data + at, wanted, size))
            return text.data + at;
    return NULL;
}

/* The field of "Default: 10"; CARD_FIELDS: it is no such label. */
static enum card_field labelled(struct slice line)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        size_t size = strlen(labels[i].text);
        if (line.size > size + 2 && line.data[size] == ':' &&
            !strncasecmp(line.data, labels[i].text, size))
            return labels[i].field;
    }
    return CARD_FIELDS;
}

/* The field of a heading of a column. */
static enum card_field headed(struct slice cell)
{
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (cell.size == strlen(labels[i].text) &&
            !strncasecmp(cell.data, labels[i].text, cell.size))
            return labels[i].field;
    return CARD_FIELDS;
}

/* ---- Gathering ---- */

struct reading {
    struct card *card;
    struct slice title;
    const struct node *node;
    uint32_t block; /* the present one */
    struct card_piece pieces[CARD_PIECES];
    size_t count;
    size_t of_field[CARD_FIELDS];
    bool said[CARD_FIELDS]; /* by a label or a table: sentences add nothing */
};

static void take(struct reading *reading, enum card_field field,
                 struct slice text)
{
    while (text.size && isspace((unsigned char)text.data[text.size - 1]))
        text.size--;
    while (text.size && isspace((unsigned char)text.data[0]))
        text = (struct slice){text.data + 1, text.size - 1};
    if (!text.size || text.size > MAX_PIECE || reading->count == CARD_PIECES ||
        reading->of_field[field] == MAX_OF_FIELD)
        return;
    for (size_t i = 0; i < reading->count; i++)
        if (reading->pieces[i].text.data == text.data)
            return;
    reading->of_field[field]++;
    reading->pieces[reading->count++] =
        (struct card_piece){field, reading->block, text};
}

static void take_label(struct reading *reading, struct slice line)
{
    enum card_field field = labelled(line);
    if (field == CARD_FIELDS)
        return;
    take(reading, field, line);
    reading->said[field] = true;
}

/* ---- Tables ---- */

struct row {
    struct slice cells[16];
    size_t count;
};

static struct row row_of(struct slice text, size_t *at)
{
    struct row row = {0};
    size_t from = *at, end = from;
    for (; end <= text.size; end++) {
        bool ends = end == text.size || text.data[end] == '\n';
        if (!ends && text.data[end] != '\t')
            continue;
        if (row.count < sizeof row.cells / sizeof *row.cells)
            row.cells[row.count++] =
                (struct slice){text.data + from, end - from};
        from = end + 1;
        if (ends)
            break;
    }
    *at = end + 1;
    return row;
}

/* "yes" under the name of each section where a keyword may be used. */
static bool is_yes(struct slice cell)
{
    return cell.size >= 3 && !strncasecmp(cell.data, "yes", 3);
}

static bool is_yes_or_no(struct slice cell)
{
    return is_yes(cell) || (cell.size >= 2 && !strncasecmp(cell.data, "no", 2));
}

static void take_columns(struct reading *reading, const struct row *head,
                         const struct row *below, bool used)
{
    bool chosen = used;
    for (size_t i = 0; i < below->count; i++)
        chosen &= is_yes_or_no(below->cells[i]);
    for (size_t i = 0; i < head->count && i < below->count; i++) {
        enum card_field field = chosen ? CARD_CHANGE : headed(head->cells[i]);
        if (field == CARD_FIELDS || (chosen && !is_yes(below->cells[i])))
            continue;
        take(reading, field, chosen ? head->cells[i] : below->cells[i]);
        reading->said[field] = true;
    }
}

/* A table of one row under its header, or of cells "Type: integer". */
static void read_table(struct reading *reading, struct slice text)
{
    size_t at = 0;
    struct row head = row_of(text, &at), below = {0};
    if (at < text.size)
        below = row_of(text, &at);
    for (size_t i = 0; i < head.count && !below.count; i++)
        take_label(reading, head.cells[i]);
    const struct block *blocks = reading->node->blocks;
    bool used = reading->block &&
                find_text(blocks[reading->block - 1].text, "sections");
    if (below.count == head.count && at >= text.size)
        take_columns(reading, &head, &below, used);
}

/* ---- Prose ---- */

/* The option's name, with which a title begins. */
static struct slice name_in(struct slice title)
{
    size_t size = 0;
    while (size < title.size && !strchr(" ,(<[=", title.data[size]))
        size++;
    return (struct slice){title.data, size};
}

/* A sentence of words, none of a program, nor "Tags: server". */
static bool is_prose(struct slice title, struct slice text)
{
    size_t letters = 0;
    struct slice name = name_in(title);
    if (text.size < MIN_ABOUT || memchr(text.data, '{', text.size) ||
        memchr(text.data, ';', text.size))
        return false;
    while (letters < text.size && isalpha((unsigned char)text.data[letters]))
        letters++;
    return (isupper((unsigned char)text.data[0]) || text.data[0] == '"' ||
            (name.size && slice_starts(text, name))) &&
           (letters == text.size || text.data[letters] != ':');
}

static bool begins(struct slice text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text.size > strlen(words[i]) &&
            !strncasecmp(text.data, words[i], strlen(words[i])))
            return true;
    return false;
}

/* What it says holds of a case of the manual's choice. */
static bool is_example(struct slice sentence)
{
    static const char *const words[] = {
        "for example", "for instance", "e.g.", "example", "suppose", "imagine"};
    return begins(sentence, words, sizeof words / sizeof *words);
}

/* Whether the words before `at` make what is said there a condition or a reference
 * to it: "when the default is the opposite". */
static bool is_supposed(struct slice sentence, const char *at)
{
    static const char *const words[] = {"when",    "if",   "unless",  "where",
                                        "because", "than", "although"};
    const char *clause = at;
    while (clause > sentence.data && !strchr(",;:(.", clause[-1]))
        clause--;
    while (clause < at && *clause == ' ')
        clause++;
    struct slice before = {clause, (size_t)(at - clause)};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        for (size_t w = 0; w + size < before.size; w++)
            if ((!w || before.data[w - 1] == ' ') &&
                before.data[w + size] == ' ' &&
                !strncasecmp(before.data + w, words[i], size))
                return true;
    }
    return false;
}

/* Ends as a sentence does that leads in to nothing. */
static bool is_whole(struct slice sentence)
{
    return strchr(".?!)", sentence.data[sentence.size - 1]) != NULL;
}

/* What "Valid values are:" leads in to. */
static void take_terms(struct reading *reading)
{
    const struct node *node = reading->node;
    uint32_t own = reading->block;
    for (uint32_t b = own + 1;
         b < node->block_count && node->blocks[b].kind == BLOCK_DEFINITION;
         b++) {
        struct slice text = node->blocks[b].text;
        const char *end = memchr(text.data, '\n', text.size);
        reading->block = b;
        take(reading, CARD_VALUES,
             (struct slice){text.data,
                            end ? (size_t)(end - text.data) : text.size});
    }
    reading->block = own;
}

static void read_sentence(struct reading *reading, struct slice sentence)
{
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
        enum card_field field = phrases[i].field;
        const char *at = find_text(sentence, phrases[i].text);
        if (reading->said[field] || !at ||
            (field == CARD_DEFAULT && is_supposed(sentence, at)))
            continue;
        if (is_whole(sentence))
            take(reading, field, sentence);
        else if (field == CARD_VALUES)
            take_terms(reading);
        else
            continue;
        reading->said[field] = true;
    }
}

/* What it is about is said at the beginning of a text, the first that says anything. */
static void read_prose(struct reading *reading, struct slice text)
{
    for (size_t at = 0; at < text.size;) {
        size_t end = sentence_end(text, at);
        struct slice sentence = {text.data + at, end - at};
        if (sentence.size && !is_example(sentence))
            read_sentence(reading, sentence);
        if (!at && !reading->of_field[CARD_ABOUT] && !is_example(sentence) &&
            is_prose(reading->title, sentence) &&
            sentence.data[sentence.size - 1] != ':' &&
            !find_text(sentence, "new in version"))
            take(reading, CARD_ABOUT, sentence);
        at = sentence_next(text, end);
    }
}

static void read_lines(struct reading *reading, const struct block *block)
{
    for (size_t at = 0; at < block->text.size;) {
        struct slice line =
            sentences_unmarked(block, sentences_line(block, &at));
        enum card_field field = labelled(line);
        if (field != CARD_FIELDS)
            take_label(reading, line);
        else if (block->kind == BLOCK_PARAGRAPH)
            read_prose(reading, line);
    }
}

/* A manual in one <pre> has its prose in what looks like code. */
static void read_code(struct reading *reading, struct slice text)
{
    for (size_t at = 0; at < text.size;) {
        struct slice piece = sentences_piece(text, &at);
        if (is_prose(reading->title, piece))
            read_prose(reading, piece);
    }
}

static void read_block(struct reading *reading, const struct block *block)
{
    if (block->kind == BLOCK_TABLE)
        read_table(reading, block->text);
    else if (block->kind == BLOCK_CODE)
        read_code(reading, block->text);
    else if (block->kind == BLOCK_PARAGRAPH || block->kind == BLOCK_LIST)
        read_lines(reading, block);
}

bool card_read(struct slice title, const struct node *content, struct card *ret)
{
    struct reading reading = {.card = ret, .title = title, .node = content};
    bool says = find_text(title, "default:") != NULL;
    reading.said[CARD_DEFAULT] = says;
    for (uint32_t b = 0; b < content->block_count && b < NEAR; b++) {
        reading.block = b;
        read_block(&reading, &content->blocks[b]);
    }
    *ret = (struct card){0};
    for (int field = 0; field < CARD_FIELDS; field++)
        for (size_t i = 0; i < reading.count; i++)
            if (reading.pieces[i].field == (enum card_field)field)
                ret->pieces[ret->count++] = reading.pieces[i];
    return says || reading.of_field[CARD_DEFAULT] ||
           reading.of_field[CARD_VALUES] || reading.of_field[CARD_CHANGE];
}

/* ---- Of what was found ---- */

static bool has_rival(const struct route_result *route)
{
    const struct route_hit *best = &route->hits[0];
    struct slice title = best->view->outline->nodes[best->node].title;
    for (size_t i = 1; i < route->count && i < RIVALS; i++) {
        const struct route_hit *hit = &route->hits[i];
        const struct node *node = &hit->view->outline->nodes[hit->node];
        if (card_same_name(title, node->title))
            return true;
    }
    return false;
}

static void add(struct passages *passages, const struct passage *like,
                int field, const struct block *block, struct slice text)
{
    struct passage passage = *like;
    passage.text = (struct slice){
        arena_copy(&passages->arena, text.data, text.size), text.size};
    passage.at = (size_t)(text.data - block->text.data);
    passage.kind = block->kind;
    passage.block = block->origin;
    passage.score = field;
    passages->items[passages->count++] = passage;
}

static void gather(const struct route_hit *hit, const struct content *content,
                   const struct card *card, struct passages *ret)
{
    const struct node *node = &hit->view->outline->nodes[hit->node];
    const struct passage like = {.view = hit->view,
                                 .node = hit->node,
                                 .encoding = content->page->encoding};
    ret->items = mem_alloc((card->count + 1) * sizeof *ret->items);
    const struct block title = {.kind = BLOCK_PARAGRAPH,
                                .text = node->title,
                                .origin = node->origins[0]};
    add(ret, &like, -1, &title, node->title);
    for (size_t i = 0; i < card->count; i++) {
        const struct card_piece *piece = &card->pieces[i];
        struct block block = content->node->blocks[piece->block];
        block.origin.file = content_file(content, hit->view, hit->node, &block);
        add(ret, &like, (int)piece->field, &block, piece->text);
    }
}

int card_of(const struct snapshot *snapshot, const struct route_result *route,
            const char *question, struct passages *ret, struct err *err)
{
    struct content content;
    struct card card;
    *ret = (struct passages){0};
    if (!route->count)
        return 0;
    const struct route_hit *best = &route->hits[0];
    const struct node *node = &best->view->outline->nodes[best->node];
    if (!node->origin_count || node->title.size > MAX_TITLE ||
        node->origins[0].span.to - node->origins[0].span.from > MAX_ORIGIN ||
        !card_is_asked(question, node) || has_rival(route))
        return 0;
    int code = content_open(snapshot, best->view, best->node, &content, err);
    if (code)
        return code == ERR_NOT_FOUND ? 0 : code;
    if (card_read(node->title, content.node, &card))
        gather(best, &content, &card, ret);
    content_close(&content);
    return 0;
}
