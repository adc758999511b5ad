#include "cli/eval/eval_answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/eval/eval_request.h"
#include "cli/eval/score.h"

const char *const reply_kind_names[REPLY_KINDS] = {
    [REPLY_NONE] = "none",
    [REPLY_PASSAGES] = "passages",
    [REPLY_GENERATED] = "generated"};

/* ---- Trials ---- */

static const struct trial_method methods[] = {
    {"auto", WAY_ASK, "auto"},
    {"generated", WAY_ASK, "generated"},
    {"passages", WAY_ASK, "passages"},
    {"oracle-section", WAY_SECTION, "passages"},
    {"best-passage", WAY_BEST, NULL},
    {"h2mt", WAY_ASK, "generated"},
    {"hmt", WAY_WHOLE, "hmt"},
    {"full", WAY_WHOLE, "full"},
};

static const struct trial_method *method_of(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strlen(methods[i].name) == size &&
            !memcmp(methods[i].name, name, size))
            return &methods[i];
    return NULL;
}

static bool has(const struct trials *trials, const struct trial_method *method)
{
    for (size_t i = 0; i < trials->count; i++)
        if (trials->items[i].method == method)
            return true;
    return false;
}

/* NULL: none. */
static int add(struct trials *trials, const char *list, struct err *err)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += at > list;
        size_t size = strcspn(at, ",");
        const struct trial_method *method = method_of(at, size);
        if (!method || has(trials, method))
            return err_set(err, ERR_USAGE,
                           "--answers takes auto, generated, passages, "
                           "oracle-section and best-passage, --method h2mt, "
                           "hmt, full and passages, each once, with commas "
                           "between them, not '%s'",
                           list);
        trials->items[trials->count++] =
            (struct trial){method, mem_alloc((trials->questions->count + 1) *
                                             sizeof(struct reply))};
    }
    return 0;
}

int trials_open(const char *answers, const char *methods_wanted,
                const struct questions *questions, struct trials *ret,
                struct err *err)
{
    struct trials trials = {.questions = questions};
    int code = add(&trials, answers, err);
    if (!code)
        code = add(&trials, methods_wanted, err);
    if (code)
        trials_close(&trials);
    else
        *ret = trials;
    return code;
}

void trials_close(struct trials *trials)
{
    for (size_t t = 0; t < trials->count; t++) {
        struct reply *replies = trials->items[t].replies;
        for (size_t i = 0; i < trials->questions->count; i++)
            cJSON_Delete(replies[i].result);
        free(replies);
    }
    trials->count = 0;
}

/* ---- One reply ---- */

static void judge_citations(const struct question *question,
                            const char *right_node, struct reply *reply)
{
    const cJSON *citation;
    cJSON_ArrayForEach (citation, cJSON_GetObjectItemCaseSensitive(
                                      reply->result, "citations")) {
        const char *node = json_get_text(citation, "node", "");
        const char *status = json_get_text(citation, "status", "");
        if (!reply->citations++)
            reply->first_right = question_is_right(question, citation) ||
                                 (right_node[0] && !strcmp(node, right_node));
        reply->verified += !strcmp(status, "verified");
        reply->repaired += !strcmp(status, "repaired");
    }
}

/* Bytes of the marker that `text` starts with, " [N]" of N citations at most;
 * 0: none. */
static size_t marker(const char *text, int citations)
{
    char *end;
    if (text[0] != ' ' || text[1] != '[' || text[2] < '1' || text[2] > '9')
        return 0;
    long number = strtol(text + 2, &end, 10);
    return *end == ']' && number <= citations ? (size_t)(end + 1 - text) : 0;
}

/* The markers of `sources` are no words of the answer. */
static void score_text(const struct question *question, const char *answer,
                       int sources, struct reply *reply)
{
    struct buf text = {0};
    for (const char *at = answer; *at;) {
        size_t size = marker(at, sources);
        if (!size)
            buf_put_byte(&text, *at);
        at += size ? size : 1;
    }
    buf_put_text(&text, "");
    for (size_t i = 0; i < question->answers.count; i++) {
        const char *reference = question->answers.items[i];
        reply->f1 = fmax(reply->f1, score_f1(text.data, reference));
        reply->rouge_l =
            fmax(reply->rouge_l, score_rouge_l(text.data, reference));
    }
    buf_free(&text);
}

/* An answer that comes at once is there when all is. */
static void take_times(const struct trial *trial, struct reply *reply)
{
    const cJSON *ms = cJSON_GetObjectItemCaseSensitive(reply->result, "ms");
    double total = json_get_double(ms, "total", 0);
    double first = json_get_double(ms, "first_token", 0);
    bool whole = trial->method->way == WAY_WHOLE;
    if (whole)
        reply->ms = total; /* with the reading, also where that was kept */
    if (whole || reply->kind != REPLY_NONE)
        reply->first = first > 0 ? first : total;
    reply->first_kept = json_get_double(ms, "first_token_kept", 0);
}

/* Takes the result over. */
static void judge(const struct trial *trial, const struct question *question,
                  const char *right_node, cJSON *result, struct reply *ret)
{
    const char *kind = json_get_text(result, "kind", "none");
    const char *answer = json_get_text(result, "answer", "");
    cJSON_DeleteItemFromObjectCaseSensitive(result, "route");
    ret->result = result;
    ret->kind = REPLY_NONE;
    for (int k = 0; k < REPLY_KINDS; k++)
        if (!strcmp(kind, reply_kind_names[k]))
            ret->kind = k;
    take_times(trial, ret);
    if (ret->kind == REPLY_NONE)
        return;
    judge_citations(question, right_node, ret);
    /* A whole document is the one source that its prompt has. */
    score_text(question, answer,
               trial->method->way == WAY_WHOLE ? 1 : ret->citations, ret);
}

/* ---- Asking ---- */

bool trial_is_oracle(const struct trial *trial)
{
    return trial->method->way == WAY_SECTION || trial->method->way == WAY_BEST;
}

bool trials_want_oracle(const struct trials *trials)
{
    for (size_t t = 0; t < trials->count; t++)
        if (trial_is_oracle(&trials->items[t]))
            return true;
    return false;
}

/* `node`: the right section. */
static int ask_oracle(struct cli *cli, const struct question *question,
                      const struct trial *trial, const char *node,
                      struct reply *reply, cJSON **ret_result, struct err *err)
{
    struct eval_request request = {
        .question = question, .answer = "passages", .under = node};
    reply->counted = node[0] != '\0';
    if (!reply->counted)
        return 0;
    return trial->method->way == WAY_BEST
               ? oracle_passage(cli, node, question, ret_result, err)
               : eval_request(cli, &request, &reply->ms, ret_result, err);
}

int trials_ask(struct cli *cli, const struct oracle *oracle,
               struct trials *trials, size_t i, const char *right_node,
               struct err *err)
{
    if (!trials->count)
        return 0;
    const struct question *question = &trials->questions->items[i];
    char node[32] = "";
    int code = 0;
    if (trials_want_oracle(trials))
        code = oracle_find(cli, oracle, question, node, err);
    for (size_t t = 0; t < trials->count && !code; t++) {
        struct trial *trial = &trials->items[t];
        struct reply *reply = &trial->replies[i];
        bool whole = trial->method->way == WAY_WHOLE;
        struct eval_request request = {
            .question = question,
            .mode = cli->options.mode,
            .answer = whole ? NULL : trial->method->asks,
            .whole = whole ? trial->method->asks : NULL};
        cJSON *result = NULL;
        reply->counted = true;
        code = trial_is_oracle(trial)
                   ? ask_oracle(cli, question, trial, node, reply, &result, err)
                   : eval_request(cli, &request, &reply->ms, &result, err);
        if (!code)
            judge(trial, question, right_node, result, reply);
    }
    return code;
}
