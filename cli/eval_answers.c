#include "cli/eval_answers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/eval_report.h"
#include "cli/eval_request.h"
#include "cli/score.h"

static const char *const kind_names[REPLY_KINDS] = {
    [REPLY_NONE] = "none",
    [REPLY_PASSAGES] = "passages",
    [REPLY_GENERATED] = "generated"};

static const char oracle_section[] = "oracle-section";
static const char best_passage[] = "best-passage";

/* ---- Trials ---- */

static const char *wanted_of(const char *name, size_t size)
{
    static const char *const known[] = {"auto", "generated", "passages",
                                        oracle_section, best_passage};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i]) == size && !memcmp(known[i], name, size))
            return known[i];
    return NULL;
}

static struct trial *find(struct trials *trials, const char *wanted)
{
    for (size_t i = 0; i < trials->count; i++)
        if (!strcmp(trials->items[i].wanted, wanted))
            return &trials->items[i];
    return NULL;
}

int trials_open(const char *list, const struct questions *questions,
                struct trials *ret, struct err *err)
{
    struct trials trials = {.questions = questions};
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += at > list;
        size_t size = strcspn(at, ",");
        const char *wanted = wanted_of(at, size);
        if (!wanted || find(&trials, wanted)) {
            trials_close(&trials);
            return err_set(err, ERR_USAGE,
                           "--answers takes auto, generated, passages, "
                           "oracle-section and best-passage, each once, with "
                           "commas between them, not '%s'",
                           list);
        }
        trials.items[trials.count++] = (struct trial){
            wanted, mem_alloc((questions->count + 1) * sizeof(struct reply))};
    }
    *ret = trials;
    return 0;
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

/* The markers are no words of the answer. */
static void score_text(const struct question *question, const char *answer,
                       struct reply *reply)
{
    struct buf text = {0};
    for (const char *at = answer; *at;) {
        size_t size = marker(at, reply->citations);
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

/* Takes the result over. */
static void judge(const struct question *question, const char *right_node,
                  cJSON *result, struct reply *ret)
{
    const char *kind = json_get_text(result, "kind", "none");
    const char *answer = json_get_text(result, "answer", "");
    cJSON_DeleteItemFromObjectCaseSensitive(result, "route");
    ret->result = result;
    ret->kind = REPLY_NONE;
    for (int k = 0; k < REPLY_KINDS; k++)
        if (!strcmp(kind, kind_names[k]))
            ret->kind = k;
    if (ret->kind == REPLY_NONE)
        return;
    judge_citations(question, right_node, ret);
    score_text(question, answer, ret);
}

/* ---- Asking ---- */

static bool is_oracle(const struct trial *trial)
{
    return trial->wanted == oracle_section || trial->wanted == best_passage;
}

bool trials_want_oracle(const struct trials *trials)
{
    for (size_t t = 0; t < trials->count; t++)
        if (is_oracle(&trials->items[t]))
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
    return trial->wanted == best_passage
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
        struct eval_request request = {
            .question = question,
            .mode = cli->options.mode,
            .answer = is_oracle(trial) ? NULL : trial->wanted};
        cJSON *result = NULL;
        reply->counted = true;
        code = is_oracle(trial)
                   ? ask_oracle(cli, question, trial, node, reply, &result, err)
                   : eval_request(cli, &request, &reply->ms, &result, err);
        if (!code)
            judge(question, right_node, result, reply);
    }
    return code;
}

/* ---- What they add up to ---- */

enum measure { FIRST_RIGHT, F1, ROUGE_L, MS };

/* Which questions count: those that `of` answered so; -1: all. */
struct choice {
    const struct trial *of;
    int kind;
};
static const struct choice all = {NULL, -1};

/* The best passage is cited nowhere, and takes ask no time. */
static bool has(const struct trial *trial, enum measure measure)
{
    return trial->wanted != best_passage ||
           (measure != FIRST_RIGHT && measure != MS);
}

static bool counts(const struct question *question, enum measure measure)
{
    switch (measure) {
    case FIRST_RIGHT: return question_has_place(question);
    case F1:
    case ROUGE_L: return question->answers.count > 0;
    case MS: break;
    }
    return true;
}

static double value_of(const struct reply *reply, enum measure measure)
{
    switch (measure) {
    case FIRST_RIGHT: return reply->first_right;
    case F1: return reply->f1;
    case ROUGE_L: return reply->rouge_l;
    case MS: break;
    }
    return reply->ms;
}

/* [*ret_count], freed by the caller. */
static double *values_of(const struct trials *trials, const struct trial *trial,
                         enum measure measure, struct choice choice,
                         size_t *ret_count)
{
    const struct questions *questions = trials->questions;
    double *values = mem_alloc((questions->count + 1) * sizeof *values);
    *ret_count = 0;
    for (size_t i = 0; i < questions->count; i++)
        if (counts(&questions->items[i], measure) && has(trial, measure) &&
            trial->replies[i].counted &&
            (choice.kind < 0 || choice.of->replies[i].kind == choice.kind))
            values[(*ret_count)++] = value_of(&trial->replies[i], measure);
    return values;
}

static struct score score_in(const struct trials *trials,
                             const struct trial *trial, enum measure measure,
                             struct choice choice)
{
    size_t count;
    double *values = values_of(trials, trial, measure, choice, &count);
    struct score score = score_of(values, count);
    free(values);
    return score;
}

/* What `trial` has more than `less`, on the questions that count for both. */
static struct score difference(const struct trials *trials,
                               const struct trial *trial,
                               const struct trial *less, enum measure measure)
{
    const struct questions *questions = trials->questions;
    double *values = mem_alloc((questions->count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < questions->count; i++)
        if (counts(&questions->items[i], measure) && has(trial, measure) &&
            has(less, measure) && trial->replies[i].counted &&
            less->replies[i].counted)
            values[count++] = value_of(&trial->replies[i], measure) -
                              value_of(&less->replies[i], measure);
    struct score score = score_of(values, count);
    free(values);
    return score;
}

static void times_of(const struct trials *trials, const struct trial *trial,
                     struct score ret_ms[2])
{
    size_t count;
    double *values = values_of(trials, trial, MS, all, &count);
    ret_ms[0] = score_of_quantile(values, count, 0.5);
    ret_ms[1] = score_of_quantile(values, count, 0.95);
    free(values);
}

/* Of all citations, those found in their files. */
static struct score verified_share(const struct trials *trials,
                                   const struct trial *trial)
{
    size_t count = trials->questions->count;
    double *parts = mem_alloc((count + 1) * sizeof *parts);
    double *wholes = mem_alloc((count + 1) * sizeof *wholes);
    for (size_t i = 0; i < count; i++) {
        parts[i] = trial->replies[i].verified;
        wholes[i] = trial->replies[i].citations;
    }
    struct score score = score_of_ratio(parts, wholes, count);
    free(parts);
    free(wholes);
    return score;
}

/* ---- Abstaining ---- */

struct abstaining {
    size_t unanswerable, answerable; /* questions */
    size_t right, wrong;             /* abstained from, of each */
    struct score recall, precision;
};

static struct abstaining abstaining_of(const struct trials *trials,
                                       const struct trial *trial)
{
    struct abstaining ret = {0};
    size_t count = trials->questions->count;
    double *right = mem_alloc((count + 1) * sizeof *right);
    double *should = mem_alloc((count + 1) * sizeof *should);
    double *did = mem_alloc((count + 1) * sizeof *did);
    for (size_t i = 0; i < count; i++) {
        bool none =
            trial->replies[i].counted && trial->replies[i].kind == REPLY_NONE;
        should[i] = trials->questions->items[i].unanswerable;
        did[i] = none;
        right[i] = none && trials->questions->items[i].unanswerable;
        ret.unanswerable += should[i] > 0;
        ret.right += right[i] > 0;
        ret.wrong += none && !(should[i] > 0);
    }
    ret.answerable = count - ret.unanswerable;
    ret.recall = score_of_ratio(right, should, count);
    ret.precision = score_of_ratio(right, did, count);
    free(right);
    free(should);
    free(did);
    return ret;
}

static void put_abstaining(struct json *json, const struct trials *trials,
                           const struct trial *trial)
{
    struct abstaining a = abstaining_of(trials, trial);
    json_key(json, "abstaining");
    json_begin(json, '{');
    json_field_int(json, "unanswerable", (int64_t)a.unanswerable);
    json_field_int(json, "answerable", (int64_t)a.answerable);
    json_field_int(json, "right", (int64_t)a.right);
    json_field_int(json, "wrong", (int64_t)a.wrong);
    report_field_score(json, "recall", &a.recall);
    report_field_score(json, "precision", &a.precision);
    json_end(json, '}');
}

struct totals {
    size_t kinds[REPLY_KINDS];
    int64_t citations, verified, repaired;
};

static struct totals totals_of(const struct trials *trials,
                               const struct trial *trial)
{
    struct totals totals = {0};
    for (size_t i = 0; i < trials->questions->count; i++) {
        const struct reply *reply = &trial->replies[i];
        totals.kinds[reply->kind]++;
        totals.citations += reply->citations;
        totals.verified += reply->verified;
        totals.repaired += reply->repaired;
    }
    return totals;
}

/* ---- JSON ---- */

static void put_scores(struct json *json, const struct trials *trials,
                       const struct trial *trial, struct choice choice)
{
    struct score rouge_l = score_in(trials, trial, ROUGE_L, choice);
    struct score f1 = score_in(trials, trial, F1, choice);
    json_field_int(json, "scored", (int64_t)f1.count);
    report_field_score(json, "rouge_l", &rouge_l);
    report_field_score(json, "f1", &f1);
}

/* Each kind of answer it gave, with the other trials' on the same questions. */
static void put_by_kind(struct json *json, const struct trials *trials,
                        const struct trial *trial)
{
    json_key(json, "by_kind");
    json_begin(json, '{');
    for (int kind = REPLY_PASSAGES; kind < REPLY_KINDS; kind++) {
        json_key(json, kind_names[kind]);
        json_begin(json, '{');
        for (size_t t = 0; t < trials->count; t++) {
            const struct trial *other = &trials->items[t];
            json_key(json, other->wanted);
            json_begin(json, '{');
            put_scores(json, trials, other, (struct choice){trial, kind});
            json_end(json, '}');
        }
        json_end(json, '}');
    }
    json_end(json, '}');
}

static void put_difference(struct json *json, const struct trials *trials,
                           const struct trial *less)
{
    const struct trial *first = &trials->items[0];
    struct score right = difference(trials, first, less, FIRST_RIGHT);
    struct score rouge_l = difference(trials, first, less, ROUGE_L);
    struct score f1 = difference(trials, first, less, F1);
    json_key(json, "difference");
    json_begin(json, '{');
    report_field_score(json, "first_right", &right);
    report_field_score(json, "rouge_l", &rouge_l);
    report_field_score(json, "f1", &f1);
    json_end(json, '}');
}

static void put_trial(struct json *json, const struct trials *trials,
                      const struct trial *trial)
{
    struct totals totals = totals_of(trials, trial);
    struct score first_right = score_in(trials, trial, FIRST_RIGHT, all);
    struct score verified = verified_share(trials, trial), ms[2];
    times_of(trials, trial, ms);
    json_begin(json, '{');
    json_field_text(json, "method", trial->wanted);
    json_key(json, "citations");
    json_begin(json, '{');
    json_field_int(json, "total", totals.citations);
    json_field_int(json, "verified", totals.verified);
    json_field_int(json, "repaired", totals.repaired);
    report_field_score(json, "verified_share", &verified);
    report_field_score(json, "first_right", &first_right);
    json_end(json, '}');
    json_key(json, "kinds");
    json_begin(json, '{');
    for (int kind = 0; kind < REPLY_KINDS; kind++)
        json_field_int(json, kind_names[kind], (int64_t)totals.kinds[kind]);
    json_end(json, '}');
    json_field_int(json, "abstentions", (int64_t)totals.kinds[REPLY_NONE]);
    put_abstaining(json, trials, trial);
    put_scores(json, trials, trial, all);
    put_by_kind(json, trials, trial);
    if (trial != &trials->items[0])
        put_difference(json, trials, trial);
    report_field_times(json, ms);
    json_end(json, '}');
}

static void put_reply(struct json *json, const struct trial *trial,
                      const struct question *question,
                      const struct reply *reply)
{
    const char *declined = json_get_text(reply->result, "declined", NULL);
    json_begin(json, '{');
    json_field_text(json, "id", question->id);
    json_field_text(json, "method", trial->wanted);
    json_field_text(json, "kind", kind_names[reply->kind]);
    json_field_text(json, "answer", json_get_text(reply->result, "answer", ""));
    if (declined)
        json_field_text(json, "declined", declined);
    json_field_double(
        json, "answer_confidence",
        json_get_double(reply->result, "answer_confidence", (double)NAN), 4);
    json_field_bool(json, "scored",
                    reply->counted && question->answers.count > 0);
    json_field_double(json, "rouge_l", reply->rouge_l, 4);
    json_field_double(json, "f1", reply->f1, 4);
    json_field_double(json, "ms", reply->ms, 3);
    json_end(json, '}');
}

void trials_put(const struct trials *trials, struct json *json)
{
    if (!trials->count)
        return;
    json_key(json, "answers");
    put_trial(json, trials, &trials->items[0]);
    if (trials->count > 1) {
        json_key(json, "compared");
        json_begin(json, '[');
        for (size_t t = 0; t < trials->count; t++)
            put_trial(json, trials, &trials->items[t]);
        json_end(json, ']');
    }
    json_key(json, "replies");
    json_begin(json, '[');
    for (size_t i = 0; i < trials->questions->count; i++)
        for (size_t t = 0; t < trials->count; t++)
            put_reply(json, &trials->items[t], &trials->questions->items[i],
                      &trials->items[t].replies[i]);
    json_end(json, ']');
}

/* ---- For people ---- */

static void print_on_generated(const struct trials *trials,
                               const struct trial *trial)
{
    for (size_t t = 0; t < trials->count; t++) {
        const struct trial *other = &trials->items[t];
        char name[64];
        struct score score = score_in(trials, other, ROUGE_L,
                                      (struct choice){trial, REPLY_GENERATED});
        snprintf(name, sizeof name, "  of %s there", other->wanted);
        report_print_score(name, &score);
    }
}

static void print_difference(const struct trials *trials,
                             const struct trial *less)
{
    const struct trial *first = &trials->items[0];
    struct score rouge_l = difference(trials, first, less, ROUGE_L);
    struct score f1 = difference(trials, first, less, F1);
    printf("  %s minus %s, the same questions\n", first->wanted, less->wanted);
    report_print_score("  ROUGE-L", &rouge_l);
    report_print_score("  token F1", &f1);
}

static void print_abstaining(const struct trials *trials,
                             const struct trial *trial)
{
    struct abstaining a = abstaining_of(trials, trial);
    if (!a.unanswerable || is_oracle(trial))
        return;
    printf("  %-22s %zu of %zu unanswerable, %zu of %zu others\n",
           "not answered", a.right, a.unanswerable, a.wrong, a.answerable);
    report_print_score("abstaining, recall", &a.recall);
    report_print_score("abstaining, precision", &a.precision);
}

static void print_trial(const struct trials *trials, const struct trial *trial)
{
    struct totals totals = totals_of(trials, trial);
    struct score first_right = score_in(trials, trial, FIRST_RIGHT, all);
    struct score rouge_l = score_in(trials, trial, ROUGE_L, all);
    struct score f1 = score_in(trials, trial, F1, all);
    struct score verified = verified_share(trials, trial), ms[2];
    times_of(trials, trial, ms);
    printf("answers (%s), %zu of %zu questions have one to compare with\n",
           trial->wanted, f1.count, trials->questions->count);
    printf("  %-22s %zu generated, %zu passages, %zu none\n", "kinds",
           totals.kinds[REPLY_GENERATED], totals.kinds[REPLY_PASSAGES],
           totals.kinds[REPLY_NONE]);
    printf("  %-22s %lld of %lld, %lld repaired\n", "citations verified",
           (long long)totals.verified, (long long)totals.citations,
           (long long)totals.repaired);
    report_print_score("share of them", &verified);
    report_print_score("first citation right", &first_right);
    report_print_score("ROUGE-L", &rouge_l);
    report_print_score("token F1", &f1);
    if (totals.kinds[REPLY_GENERATED] && trials->count > 1) {
        printf("  ROUGE-L where it is generated\n");
        print_on_generated(trials, trial);
    }
    if (trial != &trials->items[0])
        print_difference(trials, trial);
    print_abstaining(trials, trial);
    report_print_times(ms);
}

void trials_print(const struct trials *trials)
{
    for (size_t t = 0; t < trials->count; t++)
        print_trial(trials, &trials->items[t]);
}
