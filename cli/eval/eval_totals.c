/* What the answers of eval_answers.c add up to, and how that is shown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/eval/eval_answers.h"
#include "cli/eval/eval_report.h"
#include "cli/eval/score.h"

/* ---- What they add up to ---- */

enum measure { FIRST_RIGHT, F1, ROUGE_L, MS, FIRST, FIRST_KEPT };

/* Which questions count: those that `of` answered so; -1: all. */
struct choice {
    const struct trial *of;
    int kind;
};
static const struct choice all = {NULL, -1};

/* The best passage is cited nowhere, and takes ask no time; a whole document is
 * not cited. */
static bool has(const struct trial *trial, enum measure measure)
{
    switch (measure) {
    case FIRST_RIGHT:
        return trial->method->way == WAY_ASK ||
               trial->method->way == WAY_SECTION;
    case MS:
    case FIRST:
    case FIRST_KEPT: return trial->method->way != WAY_BEST;
    case F1:
    case ROUGE_L: break;
    }
    return true;
}

static bool counts(const struct question *question, const struct reply *reply,
                   enum measure measure)
{
    switch (measure) {
    case FIRST_RIGHT: return reply->counted && question_has_place(question);
    case F1:
    case ROUGE_L: return reply->counted && question->answers.count > 0;
    case FIRST: return reply->counted && reply->first > 0;
    case FIRST_KEPT: return reply->counted && reply->first_kept > 0;
    case MS: break;
    }
    return reply->counted;
}

static double value_of(const struct reply *reply, enum measure measure)
{
    switch (measure) {
    case FIRST_RIGHT: return reply->first_right;
    case F1: return reply->f1;
    case ROUGE_L: return reply->rouge_l;
    case FIRST: return reply->first;
    case FIRST_KEPT: return reply->first_kept;
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
        if (has(trial, measure) &&
            counts(&questions->items[i], &trial->replies[i], measure) &&
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
        if (has(trial, measure) && has(less, measure) &&
            counts(&questions->items[i], &trial->replies[i], measure) &&
            counts(&questions->items[i], &less->replies[i], measure))
            values[count++] = value_of(&trial->replies[i], measure) -
                              value_of(&less->replies[i], measure);
    struct score score = score_of(values, count);
    free(values);
    return score;
}

/* Median and 95 % quantile. */
static void times_of(const struct trials *trials, const struct trial *trial,
                     enum measure measure, struct score ret_ms[2])
{
    size_t count;
    double *values = values_of(trials, trial, measure, all, &count);
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
        json_key(json, reply_kind_names[kind]);
        json_begin(json, '{');
        for (size_t t = 0; t < trials->count; t++) {
            const struct trial *other = &trials->items[t];
            json_key(json, other->method->name);
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
    struct score ms = difference(trials, first, less, FIRST);
    json_key(json, "difference");
    json_begin(json, '{');
    report_field_score(json, "first_right", &right);
    report_field_score(json, "rouge_l", &rouge_l);
    report_field_score(json, "f1", &f1);
    report_field_score(json, "first_token", &ms);
    json_end(json, '}');
}

static void put_times(struct json *json, const struct trials *trials,
                      const struct trial *trial)
{
    static const struct {
        enum measure measure;
        const char *key;
    } times[] = {
        {MS, "ms"}, {FIRST, "first_token"}, {FIRST_KEPT, "first_token_kept"}};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct score ms[2];
        times_of(trials, trial, times[i].measure, ms);
        if (ms[0].count || times[i].measure == MS)
            report_field_times(json, times[i].key, ms);
    }
}

static void put_trial(struct json *json, const struct trials *trials,
                      const struct trial *trial)
{
    struct totals totals = totals_of(trials, trial);
    struct score first_right = score_in(trials, trial, FIRST_RIGHT, all);
    struct score verified = verified_share(trials, trial);
    json_begin(json, '{');
    json_field_text(json, "method", trial->method->name);
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
        json_field_int(json, reply_kind_names[kind],
                       (int64_t)totals.kinds[kind]);
    json_end(json, '}');
    json_field_int(json, "abstentions", (int64_t)totals.kinds[REPLY_NONE]);
    put_abstaining(json, trials, trial);
    put_scores(json, trials, trial, all);
    put_by_kind(json, trials, trial);
    if (trial != &trials->items[0])
        put_difference(json, trials, trial);
    put_times(json, trials, trial);
    json_end(json, '}');
}

static void put_reply(struct json *json, const struct trial *trial,
                      const struct question *question,
                      const struct reply *reply)
{
    const char *abstained = json_get_text(reply->result, "declined", NULL);
    json_begin(json, '{');
    json_field_text(json, "id", question->id);
    json_field_text(json, "method", trial->method->name);
    json_field_text(json, "kind", reply_kind_names[reply->kind]);
    json_field_text(json, "answer", json_get_text(reply->result, "answer", ""));
    if (abstained)
        json_field_text(json, "declined", abstained);
    json_field_double(
        json, "answer_confidence",
        json_get_double(reply->result, "answer_confidence", (double)NAN), 4);
    json_field_bool(json, "scored",
                    reply->counted && question->answers.count > 0);
    json_field_double(json, "rouge_l", reply->rouge_l, 4);
    json_field_double(json, "f1", reply->f1, 4);
    json_field_double(json, "ms", reply->ms, 3);
    if (reply->first > 0)
        json_field_double(json, "first_token", reply->first, 3);
    if (reply->first_kept > 0)
        json_field_double(json, "first_token_kept", reply->first_kept, 3);
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
        snprintf(name, sizeof name, "  of %s there", other->method->name);
        report_print_score(name, &score);
    }
}

static void print_difference(const struct trials *trials,
                             const struct trial *less)
{
    const struct trial *first = &trials->items[0];
    struct score rouge_l = difference(trials, first, less, ROUGE_L);
    struct score f1 = difference(trials, first, less, F1);
    printf("  %s minus %s, the same questions\n", first->method->name,
           less->method->name);
    report_print_score("  ROUGE-L", &rouge_l);
    report_print_score("  token F1", &f1);
}

static void print_times(const struct trials *trials, const struct trial *trial)
{
    struct score ms[2];
    times_of(trials, trial, FIRST, ms);
    report_print_times("to the first token", ms);
    times_of(trials, trial, FIRST_KEPT, ms);
    report_print_times("  with memories kept", ms);
    times_of(trials, trial, MS, ms);
    report_print_times("median time", ms);
}

static void print_abstaining(const struct trials *trials,
                             const struct trial *trial)
{
    struct abstaining a = abstaining_of(trials, trial);
    if (!a.unanswerable || trial_is_oracle(trial))
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
    struct score verified = verified_share(trials, trial);
    printf("answers (%s), %zu of %zu questions have one to compare with\n",
           trial->method->name, f1.count, trials->questions->count);
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
    print_times(trials, trial);
}

void trials_print(const struct trials *trials)
{
    for (size_t t = 0; t < trials->count; t++)
        print_trial(trials, &trials->items[t]);
}
