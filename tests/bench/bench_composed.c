/* What it costs that keys and values of sections are made once, each section by itself,
 * and joined in the prompt of a question:
 *
 *     composed MODEL PROMPTS [:ROWS]
 *
 * PROMPTS has a line of JSON for each question: name, question, sections (texts).  A
 * prompt is an instruction of 64 tokens, the sections, of each the first 256 tokens with
 * newlines up to whole pages, and the question.  A line of JSON for each prompt and way: the greedy
 * answer of at most 48 tokens, and the mean loss of the tokens that full attention
 * answers.  Keys are turned to where they come to stand.  Ways:
 *     full         the whole prompt is read
 *     bare+R       sections were read alone; in the prompt the first R tokens of each
 *                  are read anew
 *     behind+R     the same, but each was read behind the instruction */
#include "base/json.h"
#include "model/inference/forward.h"
#include "tests/bench/long_texts.h"

enum { SECTIONS = 8, SECTION = 256, MOST = 48 };

static const char instruction[] =
    "The following sections are from the manual of a program. Read them "
    "carefully: the question behind them is answered by one of them, in the "
    "manual's own words. Answer in one sentence, name the option, command or "
    "value that the section names, and do not add anything that does not stand "
    "in the sections of the manual. Here they are, in no particular order.\n\n";

struct prompt {
    struct ids head, section[SECTIONS], question;
    size_t count;
};

/* ---- Prompts ---- */

/* The first `most` tokens, and newlines up to whole pages. */
static void fill_pages(struct ids *ids, size_t most)
{
    struct ids newline = {0};
    put_ids(slice_of("\n"), &newline);
    ids->count = ids->count < most ? ids->count : most;
    while (ids->count % PAGE)
        ids_put(ids, newline.items[0]);
    ids_free(&newline);
}

static struct slice text_of(const cJSON *item)
{
    return slice_of(cJSON_GetStringValue(item));
}

static struct prompt take_prompt(const cJSON *line)
{
    struct prompt p = {0};
    struct buf question = {0};
    const cJSON *item;
    put_ids(slice_of(instruction), &p.head);
    fill_pages(&p.head, PAGE);
    cJSON_ArrayForEach (item, cJSON_GetObjectItem(line, "sections")) {
        if (p.count == SECTIONS)
            break;
        put_ids(text_of(item), &p.section[p.count]);
        fill_pages(&p.section[p.count], SECTION);
        p.count += p.section[p.count].count > 0;
    }
    buf_printf(&question, "\n\nQuestion: %s\nAnswer:",
               json_get_text(line, "question", ""));
    put_ids(buf_slice(&question), &p.question);
    buf_free(&question);
    return p;
}

static void free_prompt(struct prompt *p)
{
    ids_free(&p->head);
    ids_free(&p->question);
    for (size_t i = 0; i < SECTIONS; i++)
        ids_free(&p->section[i]);
}

/* ---- Sections read by themselves ---- */

static struct session *open_full(void)
{
    struct err err = {.position = -1};
    struct session *s;
    must(session_open(model, &s, &err), &err);
    return s;
}

/* The pages of a section that was read behind `head`, or alone. */
static char *make_pages(const struct ids *section, const struct ids *head)
{
    struct err err = {.position = -1};
    struct session *s = open_full();
    size_t before = head ? head->count : 0;
    char *pages = mem_alloc(section->count / PAGE * session_page_bytes(s));
    if (head)
        read_on(s, head->items, head->count);
    read_on(s, section->items, section->count);
    must(session_export(s, before, section->count, pages, &err), &err);
    session_close(s);
    return pages;
}

/* Turns the keys of a page to where they stand so many tokens later. */
static void turn_page(float *page, size_t later)
{
    const struct model_config *c = &model->config;
    size_t each = cache_layer_floats(model);
    int32_t position[PAGE];
    for (size_t i = 0; i < PAGE; i++)
        position[i] = (int32_t)later;
    for (size_t layer = 0; layer < c->layers; layer++)
        for (size_t head = 0; head < c->key_heads; head++)
            model->kernels->rotary(
                &model->run, page + layer * each + head * PAGE * c->head,
                position, model->frequencies[config_rotary(c, layer)], PAGE, 1,
                c->head);
}

/* Appends the section's pages, but for its first tokens, which are read. */
static void append(struct session *s, const struct ids *section,
                   const char *pages, size_t before, size_t anew)
{
    struct err err = {.position = -1};
    size_t bytes = session_page_bytes(s);
    float *page = mem_alloc(bytes);
    size_t later = session_length(s) - before;
    anew = anew < section->count ? anew : section->count;
    read_on(s, section->items, anew);
    for (size_t at = anew; at < section->count; at += PAGE) {
        memcpy(page, pages + at / PAGE * bytes, bytes);
        turn_page(page, later);
        must(session_import(s, section->items + at, PAGE, page, &err), &err);
    }
    free(page);
}

/* ---- Answers ---- */

/* Mean of the answer's tokens behind what the session has read. */
static double loss_of(struct session *s, const struct ids *answer)
{
    struct err err = {.position = -1};
    size_t count = answer->count, words = model_facts(model)->vocabulary;
    if (!count)
        return 0;
    double sum = log_loss(session_logits(s), words, answer->items[0]);
    float *logits = mem_alloc(count * words * sizeof *logits);
    struct session *fork = fork_session(s, session_length(s));
    must(session_prefill(fork, answer->items, count, NULL, logits, &err), &err);
    for (size_t i = 0; i + 1 < count; i++)
        sum += log_loss(logits + i * words, words, answer->items[i + 1]);
    session_close(fork);
    free(logits);
    return sum / (double)count;
}

/* Reads the question, writes an answer: its ids, and its text. */
static struct ids write_answer(struct session *s, struct buf *said)
{
    struct err err = {.position = -1};
    struct session *fork = fork_session(s, session_length(s));
    struct ids ids = {0};
    int32_t id = session_top_k(s);
    while (ids.count < MOST && !model_is_eos(model, id)) {
        struct slice bytes = tokenizer_bytes(model_tokenizer(model), id);
        if (said->size > 1 && memchr(bytes.data, '\n', bytes.size))
            break;
        buf_put_slice(said, bytes);
        ids_put(&ids, id);
        must(session_prefill(fork, &id, 1, NULL, NULL, &err), &err);
        id = session_top_k(fork);
    }
    session_close(fork);
    return ids;
}

/* Prints a row; `full` is what full attention answered, or becomes it. */
static void ask(struct session *s, const struct prompt *p, const char *name,
                const char *way, struct ids *full)
{
    struct buf begin = {0}, rest = {0}, said = {0};
    double start = clock_seconds();
    read_on(s, p->question.items, p->question.count);
    start = clock_seconds() - start;
    struct ids answer = write_answer(s, &said);
    if (!full->count)
        for (size_t i = 0; i < answer.count; i++)
            ids_put(full, answer.items[i]);
    struct json json = json_to(&rest);
    buf_printf(&begin, "{\"tokens\": %zu, \"name\": \"%s\", \"way\": \"%s\", ",
               session_length(s), name, way);
    json_field_string(&json, "answer", buf_slice(&said));
    json_field_double(&json, "loss", loss_of(s, full), 4);
    json_field_double(&json, "seconds", start, 2);
    buf_put_text(&rest, "}");
    put_row(begin.data, rest.data);
    buf_free(&begin);
    buf_free(&rest);
    buf_free(&said);
    ids_free(&answer);
    session_close(s);
}

static void ask_composed(const struct prompt *p, const char *name,
                         const struct ids *head, struct ids *full)
{
    static const size_t anew[] = {0, PAGE, 2 * PAGE};
    char *pages[SECTIONS] = {NULL}, way[32];
    for (size_t i = 0; i < p->count; i++)
        pages[i] = make_pages(&p->section[i], head);
    for (size_t a = 0; a < sizeof anew / sizeof anew[0]; a++) {
        struct session *s = open_full();
        read_on(s, p->head.items, p->head.count);
        for (size_t i = 0; i < p->count; i++)
            append(s, &p->section[i], pages[i], head ? head->count : 0,
                   anew[a]);
        snprintf(way, sizeof way, "%s+%zu", head ? "behind" : "bare", anew[a]);
        ask(s, p, name, way, full);
    }
    for (size_t i = 0; i < p->count; i++)
        free(pages[i]);
}

static void ask_line(const cJSON *line)
{
    struct prompt p = take_prompt(line);
    struct ids full = {0};
    const char *name = json_get_text(line, "name", "");
    struct session *s = open_full();
    read_on(s, p.head.items, p.head.count);
    for (size_t i = 0; i < p.count; i++)
        read_on(s, p.section[i].items, p.section[i].count);
    ask(s, &p, name, "full", &full);
    ask_composed(&p, name, &p.head, &full);
    ask_composed(&p, name, NULL, &full);
    ids_free(&full);
    free_prompt(&p);
}

/* A prompt whose last row is there was asked all ways. */
static bool is_done(const cJSON *line)
{
    struct buf end = {0};
    buf_printf(&end, "\"name\": \"%s\", \"way\": \"bare+128\"",
               json_get_text(line, "name", ""));
    bool done = row_behind(end.data) != NULL;
    buf_free(&end);
    return done;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: composed MODEL PROMPTS [:ROWS]\n");
        return 2;
    }
    struct pool *pool = open_model(argv[1], 0);
    struct buf text = file_text(argv[2]);
    if (argc > 3)
        go_on_with(argv[3] + 1);
    for (char *at = text.data, *end; at && *at; at = end) {
        struct err err = {.position = -1};
        cJSON *line;
        end = strchr(at, '\n');
        size_t size = end ? (size_t)(end++ - at) : strlen(at);
        must(json_parse((struct slice){at, size}, &line, &err), &err);
        if (!is_done(line))
            ask_line(line);
        cJSON_Delete(line);
    }
    buf_free(&text);
    model_close(model);
    pool_free(pool);
    return 0;
}
