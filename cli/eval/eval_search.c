#include "cli/eval/eval_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/eval/eval_report.h"
#include "cli/eval/eval_request.h"

enum { FIGURES = 5 };

/* Recall within the first `within`, or the reciprocal rank. */
static const struct figure {
    const char *name, *key;
    int within;
    bool reciprocal;
} figures[FIGURES] = {{"recall@1", "recall@1", 1, false},
                      {"recall@3", "recall@3", 3, false},
                      {"recall@5", "recall@5", 5, false},
                      {"recall@10", "recall@10", 10, false},
                      {"MRR", "mrr", 10, true}};

/* ---- Asking ---- */

static const char *mode_of(const char *name, size_t size)
{
    static const char *const known[] = {"auto", "tree", "dense", "lexical"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i]) == size && !memcmp(known[i], name, size))
            return known[i];
    return NULL;
}

/* False: unknown, or there already. */
static bool add_run(struct search_runs *runs, const char *name, size_t size)
{
    const char *mode = mode_of(name, size);
    for (size_t r = 0; r < runs->count; r++)
        if (runs->items[r].mode == mode)
            return false;
    if (!mode)
        return false;
    runs->items[runs->count++] = (struct search_run){
        mode, mem_alloc((runs->questions->count + 1) * sizeof(struct outcome))};
    return true;
}

int search_runs_open(const char *mode, const char *list, long depth,
                     const struct questions *questions, struct search_runs *ret,
                     struct err *err)
{
    struct search_runs runs = {.questions = questions, .depth = depth};
    add_run(&runs, mode, strlen(mode));
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += at > list;
        if (add_run(&runs, at, strcspn(at, ",")))
            continue;
        search_runs_close(&runs);
        return err_set(err, ERR_USAGE,
                       "--compare takes auto, tree, dense and lexical, each "
                       "once and none that --mode is, with commas between "
                       "them, not '%s'",
                       list);
    }
    *ret = runs;
    return 0;
}

void search_runs_close(struct search_runs *runs)
{
    for (size_t r = 0; r < runs->count; r++)
        free(runs->items[r].outcomes);
    runs->count = 0;
}

static void judge(const struct question *question, const cJSON *result,
                  struct outcome *outcome)
{
    const cJSON *hit;
    int place = 0;
    cJSON_ArrayForEach (hit,
                        cJSON_GetObjectItemCaseSensitive(result, "results")) {
        place++;
        if (outcome->rank || !question_is_right(question, hit))
            continue;
        outcome->rank = place;
        snprintf(outcome->right_node, sizeof outcome->right_node, "%s",
                 json_get_text(hit, "node", ""));
    }
    outcome->answered = place > 0;
}

int search_runs_ask(struct cli *cli, struct search_runs *runs, size_t i,
                    struct err *err)
{
    int code = 0;
    for (size_t r = 0; r < runs->count && !code; r++) {
        struct outcome *outcome = &runs->items[r].outcomes[i];
        struct eval_request request = {.question = &runs->questions->items[i],
                                       .mode = runs->items[r].mode,
                                       .count = runs->depth};
        cJSON *result = NULL;
        code = eval_request(cli, &request, &outcome->ms, &result, err);
        judge(request.question, result, outcome);
        cJSON_Delete(result);
    }
    return code;
}

/* ---- Figures ---- */

static double value_of(const struct outcome *outcome,
                       const struct figure *figure)
{
    if (!outcome->rank || outcome->rank > figure->within)
        return 0;
    return figure->reciprocal ? 1.0 / outcome->rank : 1;
}

/* Of a run, or what it has more than another (NULL: none). */
static struct score score_for(const struct search_runs *runs,
                              const struct search_run *run,
                              const struct search_run *less,
                              const struct figure *figure)
{
    size_t all = runs->questions->count, count = 0;
    double *values = mem_alloc((all + 1) * sizeof *values);
    for (size_t i = 0; i < all; i++)
        if (question_has_place(&runs->questions->items[i]))
            values[count++] = value_of(&run->outcomes[i], figure) -
                              (less ? value_of(&less->outcomes[i], figure) : 0);
    struct score score = score_of(values, count);
    free(values);
    return score;
}

static size_t count_scored(const struct questions *questions)
{
    size_t count = 0;
    for (size_t i = 0; i < questions->count; i++)
        count += question_has_place(&questions->items[i]);
    return count;
}

static size_t count_unanswered(const struct search_runs *runs,
                               const struct search_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->questions->count; i++)
        count += !run->outcomes[i].answered;
    return count;
}

/* Median and 95 % quantile. */
static void times_of(const struct search_runs *runs,
                     const struct search_run *run, struct score ret_ms[2])
{
    size_t count = runs->questions->count;
    double *values = mem_alloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = run->outcomes[i].ms;
    ret_ms[0] = score_of_quantile(values, count, 0.5);
    ret_ms[1] = score_of_quantile(values, count, 0.95);
    free(values);
}

/* ---- JSON ---- */

static void put_figures(struct json *json, const struct search_runs *runs,
                        const struct search_run *run,
                        const struct search_run *less)
{
    for (int f = 0; f < FIGURES; f++) {
        const struct figure *figure = &figures[f];
        struct score score = score_for(runs, run, less, figure);
        if (figure->reciprocal || figure->within <= runs->depth)
            report_field_score(json, figure->key, &score);
        else
            json_field_null(json, figure->key);
    }
}

static void put_run(struct json *json, const struct search_runs *runs,
                    const struct search_run *run)
{
    struct score ms[2];
    json_field_text(json, "mode", run->mode);
    json_field_int(json, "unanswered", (int64_t)count_unanswered(runs, run));
    put_figures(json, runs, run, NULL);
    times_of(runs, run, ms);
    report_field_times(json, "ms", ms);
}

static void put_ranks(struct json *json, const struct search_runs *runs,
                      const struct search_run *run)
{
    json_key(json, "ranks");
    json_begin(json, '[');
    for (size_t i = 0; i < runs->questions->count; i++) {
        const struct outcome *outcome = &run->outcomes[i];
        json_begin(json, '{');
        json_field_text(json, "id", runs->questions->items[i].id);
        if (outcome->rank)
            json_field_int(json, "rank", outcome->rank);
        else
            json_field_null(json, "rank");
        json_field_double(json, "ms", outcome->ms, 3);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_compared(struct json *json, const struct search_runs *runs,
                         const struct search_run *run)
{
    json_begin(json, '{');
    put_run(json, runs, run);
    json_key(json, "difference");
    json_begin(json, '{');
    put_figures(json, runs, &runs->items[0], run);
    json_end(json, '}');
    put_ranks(json, runs, run);
    json_end(json, '}');
}

void search_runs_put(const struct search_runs *runs, struct json *json)
{
    json_field_int(json, "n", runs->depth);
    json_field_int(json, "questions", (int64_t)runs->questions->count);
    json_field_int(json, "scored", (int64_t)count_scored(runs->questions));
    put_run(json, runs, &runs->items[0]);
    put_ranks(json, runs, &runs->items[0]);
    if (runs->count < 2)
        return;
    json_key(json, "modes");
    json_begin(json, '[');
    for (size_t r = 1; r < runs->count; r++)
        put_compared(json, runs, &runs->items[r]);
    json_end(json, ']');
}

/* ---- For people ---- */

static void print_figures(const struct search_runs *runs,
                          const struct search_run *run,
                          const struct search_run *less)
{
    for (int f = 0; f < FIGURES; f++) {
        struct score score = score_for(runs, run, less, &figures[f]);
        if (figures[f].reciprocal || figures[f].within <= runs->depth)
            report_print_score(figures[f].name, &score);
    }
}

static void print_run(const struct search_runs *runs,
                      const struct search_run *run)
{
    struct score ms[2];
    print_figures(runs, run, NULL);
    printf("  %-22s %zu of %zu\n", "without result",
           count_unanswered(runs, run), runs->questions->count);
    times_of(runs, run, ms);
    report_print_times("median time", ms);
}

void search_runs_print(const struct search_runs *runs)
{
    const char *first = runs->items[0].mode;
    printf("search (%s), %zu of %zu questions say where the answer is; mean "
           "and 95 %% interval\n",
           first, count_scored(runs->questions), runs->questions->count);
    print_run(runs, &runs->items[0]);
    for (size_t r = 1; r < runs->count; r++) {
        const struct search_run *run = &runs->items[r];
        printf("search (%s)\n", run->mode);
        print_run(runs, run);
        printf("  %s minus %s, the same questions\n", first, run->mode);
        print_figures(runs, &runs->items[0], run);
    }
}
