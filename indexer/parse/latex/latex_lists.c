/* Lists and their items; the questions of exams. */
#include <ctype.h>

#include "indexer/parse/latex/latex_internal.h"

enum { LIST_BULLETS, LIST_NUMBERS, LIST_TERMS };

static bool resumes(struct tex *tex, const struct tokens *options)
{
    bool found = false;
    struct keys_setting one;
    for (size_t from = 0; !found && keys_next(options, &from, &one);) {
        struct buf name = {0};
        tex_write_tokens(tex, &one.key, &name);
        found = slice_is(buf_slice(&name), "resume") ||
                slice_is(buf_slice(&name), "resume*");
        buf_free(&name);
        keys_setting_free(&one);
    }
    return found;
}

/* The number of the first item, by enumitem's `start` and `resume`. */
static unsigned first_number(struct document *d)
{
    struct tex *tex = &d->tex;
    struct tokens options = {0}, value = {0};
    struct buf text = {0};
    int64_t first = 1;
    tex_read_optional(tex, &options);
    if (keys_value(tex, &options, "start", &value)) {
        tex_expand_text(tex, &value, &text);
        first = number_of_text(tex, buf_slice(&text));
    } else if (resumes(tex, &options)) {
        first = d->last_ordinal;
    }
    buf_free(&text);
    tokens_free(&value);
    tokens_free(&options);
    return first > 0 && first < 100000 ? (unsigned)first : 1;
}

static void begin_list(struct document *d,
                       const struct environment *environment, struct token call)
{
    unsigned first = 0;
    (void)call;
    if (environment->value == LIST_NUMBERS)
        first = first_number(d);
    else if (environment->text)
        tex_skip_before(&d->tex, environment->text);
    if (!document_is_body(d) || d->in.kind == BLOCK_TABLE) {
        d->in.ordinal = first;
        return;
    }
    if (environment->value == LIST_TERMS) {
        blocks_begin_kind(d, BLOCK_DEFINITION, (struct slice){"", 0});
        d->in.depth = 0;
        return;
    }
    if (d->in.kind == BLOCK_LIST)
        d->in.depth++;
    else
        blocks_begin_kind(d, BLOCK_LIST, (struct slice){"", 0});
    d->in.ordinal = first;
}

/* The class exam: \part is an item of the list parts. */
static void begin_questions(struct document *d,
                            const struct environment *environment,
                            struct token call)
{
    uint32_t item = tex_symbol_of(&d->tex, "item");
    uint32_t name = tex_symbol_of(&d->tex, environment->text);
    tex_define(&d->tex, name, d->tex.symbols[item].meaning, false);
    begin_list(d,
               &(struct environment){.name = environment->name,
                                     .value = LIST_NUMBERS,
                                     .text = "o"},
               call);
}

/* tasks: \task is an item; how many stand beside each other is no text. */
static void begin_tasks(struct document *d,
                        const struct environment *environment,
                        struct token call)
{
    uint32_t item = tex_symbol_of(&d->tex, "-task-");
    tex_define(&d->tex, tex_symbol_of(&d->tex, "task"),
               d->tex.symbols[item].meaning, false);
    begin_list(
        d,
        &(struct environment){.name = environment->name, .value = LIST_BULLETS},
        call);
}

static void end_list(struct document *d, struct group *group)
{
    if (d->in.ordinal)
        d->last_ordinal = d->in.ordinal;
    if (!document_is_body(d) || d->in.kind == BLOCK_TABLE) {
        document_space(d);
        return;
    }
    if (d->in.kind == BLOCK_LIST && group->outer.kind == BLOCK_LIST)
        writer_line(blocks_writer(d), blocks_indent(group->outer.depth + 1),
                    "");
    else
        document_flush(d);
}

/* The label of an item as a term: \-term- ends it. */
static void push_label(struct document *d, const struct tokens *label,
                       struct token call, const char *end)
{
    struct tokens list = {0};
    struct token token = call;
    token.cat = CAT_BEGIN;
    token.value = '{';
    tokens_add(&list, token);
    tokens_add_all(&list, label->items, label->count);
    token.cat = CAT_END;
    token.value = '}';
    tokens_add(&list, token);
    token.cat = CAT_NAME;
    token.value = tex_symbol_of(&d->tex, end);
    tokens_add(&list, token);
    tex_push(&d->tex, list);
}

static void item_of_list(struct document *d, const struct tokens *label,
                         bool labelled, struct token call)
{
    char marker[16] = "- ";
    if (d->in.ordinal && !labelled) {
        snprintf(marker, sizeof marker, "%u. ", d->in.ordinal);
        d->labels.number =
            document_keep(d, (struct slice){marker, strcspn(marker, ".")});
        d->labels.what = slice_of("item");
        d->in.ordinal++;
    }
    writer_line(blocks_writer(d), blocks_indent(d->in.depth), marker);
    if (labelled)
        push_label(d, label, call, " ");
}

static void run_item(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    struct tokens label = {0};
    (void)command;
    beamer_skip_overlay(d);
    bool labelled = tex_read_optional(tex, &label);
    beamer_skip_overlay(d);
    /* The group of the list, not of what is open within the item before. */
    if (document_is_body(d) && d->in.kind == BLOCK_LIST) {
        item_of_list(d, &label, labelled, call);
    } else if (document_is_body(d) && d->in.kind == BLOCK_DEFINITION) {
        document_flush(d);
        if (labelled)
            push_label(d, &label, call, "-term-");
    } else if (document_is_body(d)) {
        document_flush(d);
        if (labelled)
            push_label(d, &label, call, " ");
    } else {
        document_space(d);
        if (labelled)
            push_label(d, &label, call, " ");
    }
    tokens_free(&label);
}

/* \task*(2): over two columns, \task!: over all. */
static void run_task(struct tex *tex, const struct command *command,
                     struct token call)
{
    if (tex_read_character(tex, '*'))
        tex_skip_before(tex, "p");
    else
        tex_read_character(tex, '!');
    run_item(tex, command, call);
}

static void run_term(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    (void)call;
    if (document_is_body(d) && d->in.kind == BLOCK_DEFINITION)
        writer_line(blocks_writer(d), 2, "");
    else
        document_space(d);
}

/* enumitem's \newlist{name}{enumerate}{depth}; \renewlist{enumerate}{enumerate}{9}, by
 * which lists get deeper, says nothing new. */
static void run_newlist(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf name = {0}, kind = {0};
    (void)call;
    tex_read_text(tex, &name);
    tex_read_text(tex, &kind);
    tex_skip_before(tex, command->before);
    uint32_t known = tex_find_symbol(tex, buf_slice(&kind));
    if (name.size && known != UINT32_MAX && tex->symbols[known].environment)
        tex_symbol_at(tex, name.data)->environment =
            tex->symbols[known].environment;
    buf_free(&name);
    buf_free(&kind);
}

/* ---- \dirtree ---- */

/* A line of it: "src" of ".2 src." set in by its level. */
static void put_branch(struct document *d, const struct tokens *line,
                       int64_t level, struct buf *ret)
{
    struct buf text = {0};
    tex_expand_text(&d->tex, line, &text);
    struct slice left = buf_slice(&text);
    while (left.size && strchr(" \n", left.data[0])) {
        left.data++;
        left.size--;
    }
    while (left.size && strchr(" \n", left.data[left.size - 1]))
        left.size--;
    if (left.size && left.data[left.size - 1] == '.')
        left.size--;
    for (int64_t i = 1; i < level && i < 20; i++)
        buf_put_text(ret, "  ");
    for (size_t at = 0; at < left.size; at++) {
        if (left.data[at] != '\\') {
            buf_put_byte(ret, left.data[at] == '\n' ? ' ' : left.data[at]);
            continue;
        }
        if (at + 1 < left.size && strchr("_&%#$", left.data[at + 1]))
            continue;
        while (at + 1 < left.size && isalpha((unsigned char)left.data[at + 1]))
            at++;
    }
    buf_put_byte(ret, '\n');
    buf_free(&text);
}

/* Does a line of it begin there?  A dot ends the one before. */
static bool begins_line(const struct tokens *list, size_t at)
{
    size_t end = at;
    if (!token_is(list->items[at], CAT_OTHER, '.'))
        return false;
    while (end && list->items[end - 1].cat == CAT_SPACE)
        end--;
    return !end || (end < at && token_is(list->items[end - 1], CAT_OTHER, '.'));
}

/* The level that a line of it begins with, at its dot; 0: none begins there. */
static int64_t read_level(const struct tokens *list, size_t *at)
{
    enum { MAX_DIGITS = 2 };
    int64_t level = 0;
    size_t i = *at;
    if (!begins_line(list, i))
        return 0;
    for (i++; i < list->count && i <= *at + MAX_DIGITS; i++) {
        struct token token = list->items[i];
        if (token.cat != CAT_OTHER || token.value < '0' || token.value > '9')
            break;
        level = 10 * level + token.value - '0';
    }
    if (level)
        *at = i - 1;
    return level;
}

static bool write_tree(struct document *d, const struct tokens *list,
                       struct buf *ret)
{
    struct tokens line = {0};
    int64_t level = 0;
    for (size_t i = 0; i < list->count; i++) {
        int64_t next = read_level(list, &i);
        if (!next) {
            tokens_add(&line, list->items[i]);
            continue;
        }
        if (level)
            put_branch(d, &line, level, ret);
        level = next;
        line.count = 0;
    }
    if (level)
        put_branch(d, &line, level, ret);
    tokens_free(&line);
    return level;
}

/* \dirtree{.1 /. .2 bin. .3 ls.}; one that has no such lines is a class's own. */
static void run_dirtree(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0};
    struct buf text = {0};
    (void)command;
    tex_read_argument(tex, &list);
    if (!write_tree(d, &list, &text)) {
        tex_push(tex, list);
        return;
    }
    if (document_is_body(d) && !d->in.silent) {
        struct token last = list.items[list.count - 1];
        text.size--;
        document_flush(d);
        if (last.file == call.file && last.to > call.to)
            call.to = last.to;
        document_block(d, BLOCK_CODE, buf_slice(&text), (struct slice){"", 0},
                       call);
    }
    tokens_free(&list);
    buf_free(&text);
}

static const struct command commands[] = {
    {"dirtree", run_dirtree, NULL, 0, NULL},
    {"newlist", run_newlist, "m", 0, NULL},
    {"renewlist", run_newlist, "m", 0, NULL},
    {"item", run_item, NULL, 0, NULL},
    {"-task-", run_task, NULL, 0, NULL},
    {"-term-", run_term, NULL, 0, NULL},
};

#define LIST(name, kind, options)                                              \
    {                                                                          \
        name, begin_list, end_list, NULL, kind, options, 0                     \
    }

static const struct environment environments[] = {
    LIST("itemize", LIST_BULLETS, "o"),
    LIST("itemize*", LIST_BULLETS, "o"),
    LIST("compactitem", LIST_BULLETS, "o"),
    LIST("asparaitem", LIST_BULLETS, "o"),
    LIST("enumerate", LIST_NUMBERS, "o"),
    LIST("enumerate*", LIST_NUMBERS, "o"),
    LIST("compactenum", LIST_NUMBERS, "o"),
    LIST("asparaenum", LIST_NUMBERS, "o"),
    LIST("inparaenum", LIST_NUMBERS, "o"),
    LIST("description", LIST_TERMS, "o"),
    LIST("description*", LIST_TERMS, "o"),
    LIST("compactdesc", LIST_TERMS, "o"),
    LIST("acronym", LIST_TERMS, "o"), /* of the package acronym */
    LIST("labeling", LIST_TERMS, "om"),
    LIST("list", LIST_TERMS, "mm"),
    {"tasks", begin_tasks, end_list, "op", 0, NULL, 0},
    {"questions", begin_questions, end_list, NULL, 0, "question", 0},
    {"parts", begin_questions, end_list, NULL, 0, "part", 0},
    {"subparts", begin_questions, end_list, NULL, 0, "subpart", 0},
    {"subsubparts", begin_questions, end_list, NULL, 0, "subsubpart", 0},
};

void lists_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    environments_add(d, environments,
                     sizeof environments / sizeof *environments);
}
