#include "daemon/verbs/expand.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/engine/engine.h"
#include "daemon/roles.h"
#include "daemon/verbs/scored_hits.h"

enum {
    OPEN_MS = 60000, /* waited for a model that is being opened */
    MAX_QUESTION = 600,
    MAX_ABOUT = 80,
    MAX_WORD = 60
}; /* bytes */

/* What the words' list counts beside the question's, by reciprocal ranks: chosen on
 * people's questions and on those of tests/questions/asked (docs/log/people.md). */
static const double WEIGHT = 0.5, NEAR = 3;

int expand_wanted(const struct call *call, const struct route_request *request,
                  bool *ret, struct err *err)
{
    struct engine *engine = roles_answers(call->daemon);
    struct engine_state state;
    bool asked = json_get_bool(call->params, "expand", false);
    if (asked && request->mode != ROUTE_AUTO)
        return err_set(err, ERR_USAGE, "expand goes with mode auto alone");
    *ret = asked && !request->typing && !request->context;
    if (!*ret)
        return 0;
    if (engine_has_model(engine) && engine_ready(engine, OPEN_MS)) {
        engine_state(engine, &state);
        if (state.facts.chats && !state.facts.answering.copies)
            return 0;
    }
    return err_set(err, ERR_MODEL,
                   "expand: the words are written by a model that answers in "
                   "its own words, with a chat template, and none is open "
                   "(lectern model use PATH)");
}

/* ---- The words ---- */

/* Four examples show what is wanted; they are of no manual of a set of questions. */
static const char examples[] =
    "For each question, the words that the section of the manual with the "
    "answer uses.\n\n"
    "Question about git: undo my last commit but keep the changes\n"
    "Words: git reset --soft, HEAD~1, index, working tree\n\n"
    "Question: how do I see which process uses port 8080\n"
    "Words: ss, lsof, netstat, listening sockets, local address, PID\n\n"
    "Question about Apache: apache says forbidden for a folder, why\n"
    "Words: Require all granted, Directory, 403, access control, file "
    "permissions\n\n"
    "Question about matplotlib: put the legend outside the plot\n"
    "Words: legend, bbox_to_anchor, loc, figure, axes\n\n";

/* On one line, without NULs. */
static void put_line(struct buf *out, struct slice text, size_t max)
{
    size_t from = out->size;
    text_put_utf8(out, text, max);
    for (size_t i = from; i < out->size; i++)
        if ((unsigned char)out->data[i] < ' ')
            out->data[i] = ' ';
}

/* The title of the one manual that is asked, if it is one. */
static void put_about(const struct snapshot *snapshot,
                      const struct selection *selection, struct buf *out)
{
    const struct view *only = NULL;
    size_t count = 0;
    for (size_t i = 0; i < snapshot->count; i++)
        if (selection_has(selection, snapshot->views[i]->manual.name)) {
            only = snapshot->views[i];
            count++;
        }
    if (count != 1 || !only->outline->count)
        return;
    buf_put_text(out, " about ");
    put_line(out, only->outline->nodes[0].title, MAX_ABOUT);
}

static bool is_wrapping(char c)
{
    return (unsigned char)c <= ' ' || c == '`' || c == '"' || c == '\'' ||
           c == '.';
}

static struct slice unwrap(struct slice word)
{
    while (word.size && is_wrapping(word.data[0])) {
        word.data++;
        word.size--;
    }
    while (word.size && is_wrapping(word.data[word.size - 1]))
        word.size--;
    return word;
}

static bool is_among(const struct slice *words, size_t count, struct slice word)
{
    for (size_t i = 0; i < count; i++)
        if (words[i].size == word.size &&
            !strncasecmp(words[i].data, word.data, word.size))
            return true;
    return false;
}

/* Without what stands behind the last comma. */
static struct slice whole_words(struct slice written)
{
    const char *comma =
        written.size ? memrchr(written.data, ',', written.size) : NULL;
    size_t size = comma ? (size_t)(comma - written.data) : 0;
    return comma ? (struct slice){written.data, size} : written;
}

void expand_read(struct slice written, bool ended, struct buf *ret)
{
    struct slice words[EXPAND_WORDS];
    size_t count = 0;
    if (!ended)
        written = whole_words(written);
    const char *at = written.data, *end = written.data + written.size;
    while (at < end && count < EXPAND_WORDS) {
        const char *stop = at;
        while (stop < end && *stop != ',' && *stop != '\n')
            stop++;
        struct slice word = unwrap((struct slice){at, (size_t)(stop - at)});
        if (word.size && word.size <= MAX_WORD &&
            !is_among(words, count, word)) {
            words[count++] = word;
            buf_put_text(ret, ret->size ? " " : "");
            put_line(ret, word, MAX_WORD);
        }
        at = stop + 1;
    }
}

int expand_write(const struct call *call, const struct snapshot *snapshot,
                 const struct selection *selection, const char *question,
                 struct buf *ret, struct err *err)
{
    struct slice stop = slice_of("\n");
    struct buf text = {0};
    struct engine_answer written;
    struct err cause = {.position = -1};
    buf_put_text(&text, examples);
    buf_put_text(&text, "Question");
    put_about(snapshot, selection, &text);
    buf_put_text(&text, ": ");
    put_line(&text, slice_of(question), MAX_QUESTION);
    buf_put_text(&text, "\nWords:");
    struct engine_prompt prompt = {.text = buf_slice(&text),
                                   .max = EXPAND_TOKENS,
                                   .sampling = {.penalty = 1, .top_p = 1},
                                   .stops = &stop,
                                   .stop_count = 1,
                                   .cancel = &call->request->cancelled};
    int code =
        engine_generate(roles_answers(call->daemon), &prompt, &written, &cause);
    buf_free(&text);
    if (code == ERR_CANCELLED)
        return err_set(err, code, "cancelled");
    if (code) {
        log_warn("not expanded: %s", cause.message);
        return 0;
    }
    expand_read(buf_slice(&written.text), written.ended, ret);
    buf_free(&written.text);
    return 0;
}

/* ---- Fusing ---- */

/* A section that the question did not find holds none of what it asks for. */
static struct scored_hit *find(struct scored_hit *fused, size_t *count,
                               const struct route_hit *hit)
{
    for (size_t i = 0; i < *count; i++)
        if (fused[i].hit.view == hit->view && fused[i].hit.node == hit->node)
            return &fused[i];
    struct scored_hit *added = &fused[*count];
    *added = (struct scored_hit){
        .hit = {.view = hit->view, .node = hit->node, .block = hit->block},
        .place = *count};
    (*count)++;
    return added;
}

static double share(size_t place)
{
    return 1.0 / (NEAR + (double)place);
}

void expand_fuse(struct route_result *route, const struct route_result *also,
                 size_t max)
{
    size_t count = route->count;
    struct scored_hit *fused =
        mem_alloc((count + also->count + 1) * sizeof *fused);
    for (size_t i = 0; i < count; i++)
        fused[i] = (struct scored_hit){route->hits[i], share(i), i};
    for (size_t i = 0; i < also->count; i++)
        find(fused, &count, &also->hits[i])->score += WEIGHT * share(i);
    scored_hits_sort(fused, count);
    if (count > max)
        count = max;
    struct route_hit *hits = mem_alloc((count + 1) * sizeof *hits);
    for (size_t i = 0; i < count; i++) {
        double last = i ? hits[i - 1].score : 0;
        hits[i] = fused[i].hit;
        hits[i].score = i < route->count ? route->hits[i].score : last;
    }
    free(fused);
    free(route->hits);
    route->hits = hits;
    route->count = count;
}

void expand_put(struct json *json, const struct route_result *route)
{
    if (route->expanded)
        json_field_text(json, "expanded", route->expanded);
}
