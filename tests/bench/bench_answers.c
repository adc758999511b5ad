/* What a model finds in a long text when it chooses what it reads (`exact`), beside full
 * attention:
 *
 *     answers needles MODEL TEXT TOKENS [@FOLDER] [:ROWS] [+WAY] [WAY...]
 *     answers questions MODEL TEXT QUESTIONS [@FOLDER] [:ROWS] [+WAY] [WAY...]
 *
 * Ways are those of long_texts.h; without any `full`, `exact=2560`, `exact=2048` and
 * `window=2560`.  A line of JSON for each question and way, with what was written.  The
 * text is read with full attention, or by +WAY, once; then each question is asked behind it.  What
 * was read is kept in FOLDER, and rows in the file ROWS, from where another run goes on.
 * needles: into so many tokens of the text, evenly, are put ten facts of one form (`key`),
 *     of which one is asked for, three with a form of their own (`single`), and three
 *     chains of settings, each set to what the one before is (`chain`).  A row says what
 *     was `wanted`.
 * questions: QUESTIONS has a line each, a name, a tab, and the question; the greedy
 *     answer has at most 48 tokens, and ends with its line. */
#include "base/json.h"
#include "tests/bench/long_texts.h"

enum { MOST = 48 };

/* ---- Answers ---- */

static bool ends_line(struct slice bytes)
{
    return memchr(bytes.data, '\n', bytes.size) != NULL;
}

/* Greedy text behind what the session has read. */
static struct buf write_answer(struct session *s, size_t most)
{
    struct err err = {.position = -1};
    struct buf said = {0};
    for (size_t n = 0; n < most; n++) {
        int32_t id = session_top_k(s);
        struct slice bytes = tokenizer_bytes(model_tokenizer(model), id);
        if (model_is_eos(model, id) || (said.size > 1 && ends_line(bytes)))
            break;
        buf_put_slice(&said, bytes);
        must(session_prefill(s, &id, 1, NULL, NULL, &err), &err);
    }
    return said;
}

static struct buf ask(struct session *base, const char *way,
                      struct slice question, size_t most)
{
    struct err err = {.position = -1};
    struct session_exact how = way_of(way);
    struct ids ids = {0};
    struct session *s = fork_session(base, session_length(base));
    session_exact_change(s, &how);
    put_ids(question, &ids);
    must(session_prefill(s, ids.items, ids.count, NULL, NULL, &err), &err);
    struct buf said = write_answer(s, most);
    session_close(s);
    ids_free(&ids);
    return said;
}

/* Asks unless a row tells the answer, which follows as JSON. */
static void answer(struct session *base, const char *name, const char *way,
                   struct slice question, size_t most)
{
    struct buf begin = {0}, rest = {0};
    buf_printf(&begin, "{\"tokens\": %zu, %s, \"way\": \"%s\", ",
               session_length(base), name, way);
    if (!row_behind(begin.data)) {
        double start = clock_seconds();
        struct buf said = ask(base, way, question, most);
        struct json json = json_to(&rest);
        json_field_string(&json, "answer", buf_slice(&said));
        json_field_double(&json, "seconds", clock_seconds() - start, 1);
        buf_put_text(&rest, "}");
        put_row(begin.data, rest.data);
        buf_free(&said);
    }
    buf_free(&begin);
    buf_free(&rest);
}

/* ---- Needles ---- */

enum { KEYS = 10, SINGLES = 3, CHAINS = 3, LINKS = 3 };
enum { NEEDLES = KEYS + SINGLES + CHAINS * LINKS, STEP = 5 };

static const char *const towns[KEYS] = {"Lisbon", "Oslo",  "Cairo", "Quito",
                                        "Hanoi",  "Perth", "Turin", "Leeds",
                                        "Minsk",  "Dakar"};
static const char *const things[SINGLES] = {
    "The number of the ferry to Tallinn", "The weight of the bell in grams",
    "The year in which the orchard was planted"};
static const char *const settings[CHAINS * LINKS] = {
    "red_level",  "blue_level",    "green_level", "north_limit", "south_limit",
    "west_limit", "copper_offset", "tin_offset",  "zinc_offset"};

static int code_of(size_t i)
{
    return (int)(1009 + i * 7919 % 8971);
}

/* What the needle says up to its number, and behind it: a chain's first link has the
 * number, the others the setting before. */
static void put_needle(size_t i, struct buf *out)
{
    size_t link = i - KEYS - SINGLES;
    if (i < KEYS)
        buf_printf(out, "\n\nThe access code of the %s office is %d.\n\n",
                   towns[i], code_of(i));
    else if (i < KEYS + SINGLES)
        buf_printf(out, "\n\n%s is %d.\n\n", things[i - KEYS], code_of(i));
    else if (link % LINKS == 0)
        buf_printf(out, "\n\nThe setting %s is %d.\n\n", settings[link],
                   code_of(i));
    else
        buf_printf(out, "\n\nThe setting %s is the same as %s.\n\n",
                   settings[link], settings[link - 1]);
}

/* The text with the needles between, of `tokens`, whole pieces. */
static struct ids bury(const struct ids *text, size_t tokens)
{
    struct ids ret = {0};
    size_t each =
        tokens / (NEEDLES + 1) - 24; /* a needle has so many at most */
    for (size_t i = 0; i < NEEDLES; i++) {
        struct buf needle = {0};
        for (size_t t = 0; t < each; t++)
            ids_put(&ret, text->items[i * each + t]);
        put_needle(i * STEP % NEEDLES, &needle);
        put_ids(buf_slice(&needle), &ret);
        buf_free(&needle);
    }
    for (size_t t = NEEDLES * each; ret.count < tokens; t++)
        ids_put(&ret, text->items[t]);
    return ret;
}

static void put_question(size_t i, struct buf *question, struct buf *name)
{
    const char *kind = i < KEYS             ? "key"
                       : i < KEYS + SINGLES ? "single"
                                            : "chain";
    size_t link = i - KEYS - SINGLES;
    size_t first = i < KEYS + SINGLES ? i : i - link % LINKS;
    buf_printf(name, "\"kind\": \"%s\", \"name\": \"%zu\", \"wanted\": \"%d\"",
               kind, i, code_of(first));
    buf_put_text(question, "\n\nQuestion: ");
    if (i < KEYS)
        buf_printf(question,
                   "What is the access code of the %s office?\nAnswer: The "
                   "access code of the %s office is ",
                   towns[i], towns[i]);
    else if (i < KEYS + SINGLES)
        buf_printf(question, "What is this? %s\nAnswer: %s is ",
                   things[i - KEYS], things[i - KEYS]);
    else
        buf_printf(question,
                   "Which number is the setting %s?\nAnswer: The setting %s "
                   "is ",
                   settings[link], settings[link]);
}

static void ask_needle(struct session *base, size_t i, const char *way)
{
    enum { FEW = 8, MORE = 40 };
    struct buf question = {0}, name = {0};
    put_question(i, &question, &name);
    answer(base, name.data, way, buf_slice(&question),
           i < KEYS + SINGLES ? FEW : MORE);
    buf_free(&question);
    buf_free(&name);
}

/* ---- Questions ---- */

static void ask_line(struct session *base, struct slice line, const char *way)
{
    struct buf question = {0}, name = {0};
    const char *tab = memchr(line.data, '\t', line.size);
    if (!tab)
        return;
    size_t size = (size_t)(tab - line.data);
    buf_printf(&name, "\"name\": \"%.*s\"", (int)size, line.data);
    buf_printf(&question,
               "\n\nQuestion: %.*s\nAnswer:", (int)(line.size - size - 1),
               tab + 1);
    answer(base, name.data, way, buf_slice(&question), MOST);
    buf_free(&question);
    buf_free(&name);
}

/* By turns, so that what was asked until a run ends is comparable. */
static void ask_lines(struct session *base, struct slice lines,
                      const char *const *ways, int count)
{
    while (lines.size) {
        const char *end = memchr(lines.data, '\n', lines.size);
        size_t size = end ? (size_t)(end - lines.data) : lines.size;
        for (int w = 0; w < count; w++)
            ask_line(base, (struct slice){lines.data, size}, ways[w]);
        size += end != NULL;
        lines = (struct slice){lines.data + size, lines.size - size};
    }
}

static int run(bool needles, int argc, char **argv)
{
    const char *ways[16] = {"full", "exact=2560", "exact=2048", "window=2560"};
    int count = 0;
    struct session_exact by = {.all = true};
    struct pool *pool = open_model(argv[0], 0);
    struct ids text = file_ids(argv[1]);
    struct ids ids = needles ? bury(&text, strtoul(argv[2], NULL, 10)) : text;
    for (int i = 3; i < argc; i++) {
        if (argv[i][0] == '@')
            keep_in(argv[i] + 1);
        else if (argv[i][0] == ':')
            go_on_with(argv[i] + 1);
        else if (argv[i][0] == '+')
            by = way_of(argv[i] + 1);
        else if (count < 16)
            ways[count++] = argv[i];
    }
    count = count ? count : 4;
    struct reading r = begin_reading(&by, ids.items);
    read_to(&r, ids.count / PIECE * PIECE);
    for (size_t i = 0; needles && i < NEEDLES; i++)
        for (int w = 0; w < count; w++)
            ask_needle(r.s, i, ways[w]);
    if (!needles) {
        struct buf lines = file_text(argv[2]);
        ask_lines(r.s, buf_slice(&lines), ways, count);
        buf_free(&lines);
    }
    end_reading(&r);
    ids_free(&text);
    if (needles)
        ids_free(&ids);
    model_close(model);
    pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    bool needles = argc > 1 && !strcmp(argv[1], "needles");
    if (argc > 4 && (needles || !strcmp(argv[1], "questions")))
        return run(needles, argc - 2, argv + 2);
    fprintf(stderr,
            "usage: answers needles MODEL TEXT TOKENS [@FOLDER] [:ROWS] "
            "[+WAY] [WAY...]\n"
            "       answers questions MODEL TEXT QUESTIONS [@FOLDER] [:ROWS] "
            "[+WAY] [WAY...]\n");
    return 2;
}
