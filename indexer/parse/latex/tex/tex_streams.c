/* Files that a document writes and reads again (The TeXbook, chapter 20: \openout,
 * \write, \closeout).  They are kept in memory.  What is written keeps its place:
 * of \write the tokens are kept, and get the categories of when they are read;
 * passages that stand as they are written are ranges of the files they come from. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

enum {
    MAX_STREAMS = 1000,
    PIECE_BITS = 20,
    MAX_PIECES = (1 << PIECE_BITS) - 1, /* in one file */
    STEPS_A_PIECE = 20
};

/* A line, or a passage of a file. */
struct piece {
    struct tokens line;
    struct token passage; /* its file and range; cat CAT_NONE: a line */
};

struct stream {
    struct slice key;  /* by which it is written: a register or a name */
    struct slice file; /* by which it is read */
    bool open;
    struct piece *pieces; /* [count] */
    size_t count, capacity;
};

/* ---- Writing ---- */

static void clear(struct stream *stream)
{
    for (size_t i = 0; i < stream->count; i++)
        tokens_free(&stream->pieces[i].line);
    stream->count = 0;
}

static struct stream *find(const struct tex *tex, struct slice key)
{
    for (size_t i = tex->stream_count; i-- > 0;)
        if (tex->streams[i].open && slice_equal(tex->streams[i].key, key))
            return &tex->streams[i];
    return NULL;
}

static struct slice keep(struct tex *tex, struct slice text)
{
    return (struct slice){
        arena_copy(&tex->arena, text.data ? text.data : "", text.size),
        text.size};
}

void streams_open(struct tex *tex, struct slice key, struct slice file)
{
    struct stream *stream = NULL;
    for (size_t i = 0; i < tex->stream_count; i++)
        if (slice_equal(tex->streams[i].file, file))
            stream = &tex->streams[i];
    streams_close(tex, key);
    if (!stream) {
        if (tex->stream_count == MAX_STREAMS)
            return;
        MEM_RESERVE(tex->streams, &tex->stream_capacity, tex->stream_count + 1);
        stream = &tex->streams[tex->stream_count++];
        *stream = (struct stream){.file = keep(tex, file)};
    }
    clear(stream);
    stream->key = keep(tex, key);
    stream->open = true;
}

void streams_close(struct tex *tex, struct slice key)
{
    struct stream *stream = find(tex, key);
    if (stream)
        stream->open = false;
}

bool streams_is_open(const struct tex *tex, struct slice key)
{
    return find(tex, key) != NULL;
}

/* NULL: there is no such stream, or no room. */
static struct piece *add_piece(struct tex *tex, struct slice key, size_t tokens)
{
    struct stream *stream = find(tex, key);
    if (!stream || stream->count == MAX_PIECES ||
        tex->stored + tokens > MAX_STORED)
        return NULL;
    tex->stored += tokens;
    MEM_RESERVE(stream->pieces, &stream->capacity, stream->count + 1);
    struct piece *piece = &stream->pieces[stream->count++];
    *piece = (struct piece){.passage = {.cat = CAT_NONE}};
    return piece;
}

void streams_write(struct tex *tex, struct slice key, struct tokens *line)
{
    struct piece *piece = add_piece(tex, key, line->count);
    if (piece)
        piece->line = *line;
    else
        tokens_free(line);
    *line = (struct tokens){0};
}

void streams_write_passage(struct tex *tex, struct slice key,
                           struct token passage)
{
    struct piece *piece = add_piece(tex, key, 1);
    passage.cat = CAT_OTHER;
    if (piece)
        piece->passage = passage;
}

/* ---- Reading ---- */

/* What was written becomes tokens as if it stood in a file. */
struct scan {
    struct tex *tex;
    const struct tokens *from;
    struct tokens *to;
    size_t at;
    bool skips; /* spaces */
};

static int category(const struct tex *tex, struct token token)
{
    if (token.cat == CAT_NAME)
        return CAT_NAME;
    if (token.value < 0x80)
        return tex->catcodes[token.value];
    return text_is_letter(token.value) ? CAT_LETTER : CAT_OTHER;
}

static void put(struct scan *s, struct token token, int cat, uint32_t value)
{
    token.cat = (uint8_t)cat;
    token.value = value;
    token.flags &= (uint8_t)~TOKEN_FROZEN;
    tokens_add(s->to, token);
    s->skips = cat == CAT_SPACE;
}

/* The escape character was read. */
static void put_name(struct scan *s, struct token escape)
{
    struct buf name = {0};
    bool letters = true;
    while (s->at < s->from->count && letters) {
        struct token token = s->from->items[s->at];
        letters = category(s->tex, token) == CAT_LETTER;
        if (token.cat == CAT_NAME || (!letters && name.size))
            break;
        text_encode(&name, token.value);
        s->at++;
    }
    escape.flags |= TOKEN_MADE;
    put(s, escape, CAT_NAME, tex_symbol(s->tex, buf_slice(&name)));
    s->skips = letters;
    buf_free(&name);
}

static void skip_comment(struct scan *s)
{
    while (s->at < s->from->count &&
           category(s->tex, s->from->items[s->at]) != CAT_LINE_END)
        s->at++;
}

static void put_next(struct scan *s)
{
    struct token token = s->from->items[s->at++];
    int cat = category(s->tex, token);
    switch (cat) {
    case CAT_ESCAPE: put_name(s, token); break;
    case CAT_COMMENT: skip_comment(s); break;
    case CAT_IGNORED:
    case CAT_INVALID: break;
    case CAT_LINE_END:
    case CAT_SPACE:
        if (!s->skips)
            put(s, token, CAT_SPACE, ' ');
        break;
    case CAT_ACTIVE: {
        char name[2] = {'\1', (char)token.value};
        put(s, token, CAT_NAME, tex_symbol(s->tex, (struct slice){name, 2}));
        break;
    }
    default: put(s, token, cat, token.value);
    }
}

/* The line, and the space that its end is. */
static struct input *push_line(struct tex *tex, const struct tokens *line)
{
    struct tokens list = {0};
    struct scan scan = {.tex = tex, .from = line, .to = &list};
    struct token end = {.flags = TOKEN_MADE, .file = UINT16_MAX};
    tex->steps += line->count / 4;
    while (scan.at < line->count)
        put_next(&scan);
    if (line->count)
        end = line->items[line->count - 1];
    if (!scan.skips)
        put(&scan, end, CAT_SPACE, ' ');
    return tex_push(tex, list);
}

static struct input *push_passage(struct tex *tex, struct token passage)
{
    if (tex->file_depth >= MAX_FILE_DEPTH) {
        tex_report(tex, passage, "too many files within files");
        return NULL;
    }
    tex_push_file(tex, passage.file);
    struct input *input = &tex->inputs[tex->input_count - 1];
    input->at = passage.from;
    input->end = passage.to;
    input->state = MOUTH_SKIP;
    return input;
}

/* The piece, on which the next follows when it ends; `then` is 1 + its stream and
 * its number in there. */
void streams_resume(struct tex *tex, uint32_t then)
{
    size_t at = (then - 1) >> PIECE_BITS;
    size_t number = (then - 1) & MAX_PIECES;
    struct input *input = NULL;
    for (; !input && number < tex->streams[at].count; number++, then++) {
        struct piece piece = tex->streams[at].pieces[number];
        tex->steps += STEPS_A_PIECE;
        input = piece.passage.cat == CAT_NONE
                    ? push_line(tex, &piece.line)
                    : push_passage(tex, piece.passage);
    }
    if (input)
        input->then = then;
}

/* "x.tex" is also called "x". */
static bool is_named(struct slice file, struct slice name)
{
    static const char ending[] = ".tex";
    size_t size = sizeof ending - 1;
    if (file.size == name.size + size &&
        !memcmp(file.data + name.size, ending, size))
        file.size = name.size;
    return slice_equal(file, name);
}

static const struct stream *find_file(const struct tex *tex, struct slice name)
{
    for (size_t i = tex->stream_count; name.size && i-- > 0;)
        if (is_named(tex->streams[i].file, name))
            return &tex->streams[i];
    return NULL;
}

bool streams_exists(const struct tex *tex, struct slice name)
{
    return find_file(tex, name) != NULL;
}

bool streams_read(struct tex *tex, struct slice name)
{
    const struct stream *stream = find_file(tex, name);
    if (stream)
        streams_resume(tex,
                       1 + ((uint32_t)(stream - tex->streams) << PIECE_BITS));
    return stream != NULL;
}

bool streams_passage(const struct tex *tex, struct slice name,
                     struct token *ret_passage)
{
    const struct stream *stream = find_file(tex, name);
    if (!stream || stream->count != 1 ||
        stream->pieces[0].passage.cat == CAT_NONE)
        return false;
    *ret_passage = stream->pieces[0].passage;
    return true;
}

/* ---- TeX's commands ---- */

/* The register that follows: "#3" of \newwrite, else as it is written. */
void streams_read_key(struct tex *tex, struct buf *ret)
{
    struct token token = tex_next_solid(tex);
    if (token.cat == CAT_NAME &&
        tex_meaning(tex, token)->kind == MEANING_COUNT) {
        buf_printf(ret, "#%u", tex_meaning(tex, token)->index);
    } else if (token.cat == CAT_NAME) {
        tex_write_token(tex, token, ret);
    } else {
        tex_unread(tex, token);
        buf_printf(ret, "%lld", (long long)number_read(tex));
    }
}

/* name, or {name} */
void streams_read_file(struct tex *tex, struct buf *ret)
{
    struct token token = tex_next_solid(tex);
    tex_unread(tex, token);
    if (token.cat == CAT_BEGIN) {
        tex_read_text(tex, ret);
        return;
    }
    while ((token = tex_next_expanded(tex)).cat == CAT_LETTER ||
           token.cat == CAT_OTHER || token.cat == CAT_SUB ||
           token_is(token, CAT_NAME, tex_symbol_of(tex, "jobname")))
        tex_write_token(tex, token, ret);
    if (token.cat != CAT_SPACE)
        tex_unread(tex, token);
}

static void run_openout(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf key = {0}, file = {0};
    (void)command;
    (void)call;
    streams_read_key(tex, &key);
    tex_skip_before(tex, "=");
    streams_read_file(tex, &file);
    streams_open(tex, buf_slice(&key), buf_slice(&file));
    buf_free(&key);
    buf_free(&file);
}

static void run_closeout(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct buf key = {0};
    (void)command;
    (void)call;
    streams_read_key(tex, &key);
    streams_close(tex, buf_slice(&key));
    buf_free(&key);
}

void streams_write_argument(struct tex *tex, struct slice key)
{
    struct tokens line = {0};
    struct token token = tex_next_solid(tex);
    if (token.cat != CAT_BEGIN || !streams_is_open(tex, key)) {
        tex_unread(tex, token);
        tex_read_argument(tex, &line);
        tokens_free(&line);
        return;
    }
    tex_read_expanded(tex, &line);
    streams_write(tex, key, &line);
}

/* \write\x{..}, \protected@write\x{..}{..} */
static void run_write(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct buf key = {0};
    (void)call;
    streams_read_key(tex, &key);
    tex_skip_before(tex, command->text);
    streams_write_argument(tex, buf_slice(&key));
    buf_free(&key);
}

static const struct command commands[] = {
    {"openout", run_openout, NULL, 0, NULL},
    {"closeout", run_closeout, NULL, 0, NULL},
    {"write", run_write, NULL, 0, NULL},
    {"protected@write", run_write, NULL, 0, "m"},
};

void streams_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}

void streams_free(struct tex *tex)
{
    for (size_t i = 0; i < tex->stream_count; i++) {
        clear(&tex->streams[i]);
        free(tex->streams[i].pieces);
    }
    free(tex->streams);
}
