/* Measures search, and answers with --method, on a file of questions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/questions.h"
#include "cli/score.h"

enum { DEPTH = 10, RECALLS = 4, MRR_DEPTH = 10 };

static const int recall_at[RECALLS] = {1, 3, 5, 10};

/* What came of one question. */
struct outcome {
    int rank;      /* of the first right result, 0: none */
    bool answered; /* search had results */
    double search_ms;
    double ask_ms;
    char right_node[32]; /* of the first right result */
    bool abstained, first_right;
    int citations, verified;
    double f1, rouge_l;
};

/* A column of values on which a score is computed. */
struct column {
    double *values;
    size_t count;
};

struct report {
    const struct questions *questions;
    const struct outcome *outcomes;
    long depth;
    size_t unanswered, abstained;
    int64_t citations, verified;
    struct score recall[RECALLS], mrr, first_right, f1, rouge_l;
    double search_ms[2], ask_ms[2]; /* median, 95 % quantile */
};

static void build(const struct cli *cli, const struct question *question,
                  bool ask, struct buf *params)
{
    const struct options *options = &cli->options;
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_field_text(&json, "query", question->text);
    cli_param_text(&json, "manual", options->manual);
    cli_param_text(&json, "file", question->document);
    cli_param_text(&json, "mode", options->mode);
    if (ask)
        json_field_text(&json, "answer", options->method);
    else
        json_field_int(&json, "n", options->count > 0 ? options->count : DEPTH);
    json_end(&json, '}');
}

static int request(struct cli *cli, const struct question *question, bool ask,
                   double *ret_ms, cJSON **ret_result, struct err *err)
{
    struct buf params = {0}, text = {0};
    build(cli, question, ask, &params);
    double start = clock_seconds();
    int code =
        cli_call(cli, ask ? "ask" : "search", buf_slice(&params), &text, err);
    *ret_ms = (clock_seconds() - start) * 1e3;
    if (!code)
        code = json_parse(buf_slice(&text), ret_result, err);
    if (code && err && code != ERR_CANCELLED && question->id[0]) {
        char message[sizeof err->message];
        snprintf(message, sizeof message, "%s", err->message);
        snprintf(err->message, sizeof err->message, "question %.80s: %.500s",
                 question->id, message);
    }
    buf_free(&params);
    buf_free(&text);
    return code;
}

static int search(struct cli *cli, const struct question *question,
                  struct outcome *outcome, struct err *err)
{
    cJSON *result = NULL;
    const cJSON *hit;
    int place = 0;
    int code = request(cli, question, false, &outcome->search_ms, &result, err);
    const cJSON *hits = cJSON_GetObjectItemCaseSensitive(result, "results");
    cJSON_ArrayForEach (hit, hits) {
        place++;
        if (outcome->rank || !question_is_right(question, hit))
            continue;
        outcome->rank = place;
        snprintf(outcome->right_node, sizeof outcome->right_node, "%s",
                 json_get_text(hit, "node", ""));
    }
    outcome->answered = place > 0;
    cJSON_Delete(result);
    return code;
}

static void judge_answer(const struct question *question, const cJSON *result,
                         struct outcome *outcome)
{
    const cJSON *citation;
    const char *answer = json_get_text(result, "answer", "");
    outcome->abstained = !strcmp(json_get_text(result, "kind", "none"), "none");
    if (outcome->abstained)
        return;
    cJSON_ArrayForEach (citation,
                        cJSON_GetObjectItemCaseSensitive(result, "citations")) {
        if (!outcome->citations++)
            outcome->first_right =
                question_is_right(question, citation) ||
                (outcome->rank && !strcmp(json_get_text(citation, "node", ""),
                                          outcome->right_node));
        outcome->verified +=
            !strcmp(json_get_text(citation, "status", ""), "verified");
    }
    for (size_t i = 0; i < question->answers.count; i++) {
        const char *reference = question->answers.items[i];
        outcome->f1 = fmax(outcome->f1, score_f1(answer, reference));
        outcome->rouge_l =
            fmax(outcome->rouge_l, score_rouge_l(answer, reference));
    }
}

static int ask(struct cli *cli, const struct question *question,
               struct outcome *outcome, struct err *err)
{
    cJSON *result = NULL;
    int code = request(cli, question, true, &outcome->ask_ms, &result, err);
    if (!code)
        judge_answer(question, result, outcome);
    cJSON_Delete(result);
    return code;
}

static int run_all(struct cli *cli, const struct questions *questions,
                   struct outcome *outcomes, struct err *err)
{
    struct progress progress = {.on = cli->progress};
    int code = 0;
    for (size_t i = 0; !code && i < questions->count; i++) {
        const struct question *question = &questions->items[i];
        progress_show(&progress, "questions", (int64_t)i,
                      (int64_t)questions->count);
        code = search(cli, question, &outcomes[i], err);
        if (!code && cli->options.method)
            code = ask(cli, question, &outcomes[i], err);
    }
    progress_clear(&progress);
    return code;
}

enum measure {
    RECALL,
    RECIPROCAL,
    FIRST_RIGHT,
    F1,
    ROUGE_L,
    SEARCH_MS,
    ASK_MS
};

static bool counts(const struct question *question, enum measure measure)
{
    if (measure == F1 || measure == ROUGE_L)
        return question->answers.count > 0;
    return measure == SEARCH_MS || measure == ASK_MS ||
           question_has_place(question);
}

static double value_of(const struct outcome *outcome, enum measure measure,
                       int k)
{
    bool within = outcome->rank && outcome->rank <= k;
    switch (measure) {
    case RECALL: return within;
    case RECIPROCAL: return within ? 1.0 / outcome->rank : 0;
    case FIRST_RIGHT: return outcome->first_right;
    case F1: return outcome->f1;
    case ROUGE_L: return outcome->rouge_l;
    case SEARCH_MS: return outcome->search_ms;
    case ASK_MS: return outcome->ask_ms;
    }
    return 0;
}

static struct column column_of(const struct report *report,
                               enum measure measure, int k)
{
    size_t all = report->questions->count;
    struct column column = {mem_alloc(all * sizeof(double)), 0};
    for (size_t i = 0; i < all; i++)
        if (counts(&report->questions->items[i], measure))
            column.values[column.count++] =
                value_of(&report->outcomes[i], measure, k);
    return column;
}

static struct score score_for(const struct report *report, enum measure measure,
                              int k)
{
    struct column column = column_of(report, measure, k);
    struct score score = score_of(column.values, column.count);
    free(column.values);
    return score;
}

static void times_for(const struct report *report, enum measure measure,
                      double ret_ms[2])
{
    struct column column = column_of(report, measure, 0);
    ret_ms[0] = score_quantile(column.values, column.count, 0.5);
    ret_ms[1] = score_quantile(column.values, column.count, 0.95);
    free(column.values);
}

static void add_up(struct report *report)
{
    for (size_t i = 0; i < report->questions->count; i++) {
        const struct outcome *outcome = &report->outcomes[i];
        report->unanswered += !outcome->answered;
        report->abstained += outcome->abstained;
        report->citations += outcome->citations;
        report->verified += outcome->verified;
    }
    for (int i = 0; i < RECALLS; i++)
        report->recall[i] = score_for(report, RECALL, recall_at[i]);
    report->mrr = score_for(report, RECIPROCAL, MRR_DEPTH);
    report->first_right = score_for(report, FIRST_RIGHT, 0);
    report->f1 = score_for(report, F1, 0);
    report->rouge_l = score_for(report, ROUGE_L, 0);
    times_for(report, SEARCH_MS, report->search_ms);
    times_for(report, ASK_MS, report->ask_ms);
}

static void field_score(struct json *json, const char *key,
                        const struct score *score)
{
    json_key(json, key);
    json_begin(json, '{');
    json_field_double(json, "value", score->mean, 4);
    json_field_double(json, "low", score->low, 4);
    json_field_double(json, "high", score->high, 4);
    json_end(json, '}');
}

static void field_times(struct json *json, const double ms[2])
{
    json_key(json, "ms");
    json_begin(json, '{');
    json_field_double(json, "median", ms[0], 3);
    json_field_double(json, "p95", ms[1], 3);
    json_end(json, '}');
}

static void field_answers(struct json *json, const struct report *report,
                          const char *method)
{
    json_key(json, "answers");
    json_begin(json, '{');
    json_field_text(json, "method", method);
    json_key(json, "citations");
    json_begin(json, '{');
    json_field_int(json, "total", report->citations);
    json_field_int(json, "verified", report->verified);
    field_score(json, "first_right", &report->first_right);
    json_end(json, '}');
    json_field_int(json, "abstentions", (int64_t)report->abstained);
    json_field_int(json, "scored", (int64_t)report->f1.count);
    field_score(json, "rouge_l", &report->rouge_l);
    field_score(json, "f1", &report->f1);
    field_times(json, report->ask_ms);
    json_end(json, '}');
}

static void field_ranks(struct json *json, const struct report *report)
{
    json_key(json, "ranks");
    json_begin(json, '[');
    for (size_t i = 0; i < report->questions->count; i++) {
        const struct outcome *outcome = &report->outcomes[i];
        json_begin(json, '{');
        json_field_text(json, "id", report->questions->items[i].id);
        if (outcome->rank)
            json_field_int(json, "rank", outcome->rank);
        else
            json_field_null(json, "rank");
        json_field_double(json, "ms", outcome->search_ms, 3);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void print_json(const struct cli *cli, const struct report *report)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    json_begin(&json, '{');
    json_field_text(&json, "file", cli->args.items[0]);
    json_field_text(&json, "mode",
                    cli->options.mode ? cli->options.mode : "auto");
    json_field_int(&json, "n", report->depth);
    json_field_int(&json, "questions", (int64_t)report->questions->count);
    json_field_int(&json, "scored", (int64_t)report->mrr.count);
    json_field_int(&json, "unanswered", (int64_t)report->unanswered);
    for (int i = 0; i < RECALLS; i++) {
        char key[32];
        snprintf(key, sizeof key, "recall@%d", recall_at[i]);
        if (recall_at[i] <= report->depth)
            field_score(&json, key, &report->recall[i]);
        else
            json_field_null(&json, key);
    }
    field_score(&json, "mrr", &report->mrr);
    field_times(&json, report->search_ms);
    if (cli->options.method)
        field_answers(&json, report, cli->options.method);
    field_ranks(&json, report);
    json_end(&json, '}');
    output_json(buf_slice(&out));
    buf_free(&out);
}

static void print_score(const char *name, const struct score *score)
{
    if (score->count)
        printf("  %-22s %6.4f  (%6.4f to %6.4f)\n", name, score->mean,
               score->low, score->high);
}

static void print_answers(const struct report *report)
{
    printf("answers\n");
    printf("  %-22s %lld of %lld\n", "citations verified",
           (long long)report->verified, (long long)report->citations);
    print_score("first citation right", &report->first_right);
    print_score("ROUGE-L", &report->rouge_l);
    print_score("token F1", &report->f1);
    printf("  %-22s %zu of %zu\n", "abstentions", report->abstained,
           report->questions->count);
    printf("  %-22s %.1f ms, 95 %% within %.1f ms\n", "median time",
           report->ask_ms[0], report->ask_ms[1]);
}

static void print_people(const struct cli *cli, const struct report *report)
{
    printf("search, %zu of %zu questions say where the answer is; mean and "
           "95 %% interval\n",
           report->mrr.count, report->questions->count);
    for (int i = 0; i < RECALLS; i++) {
        char name[32];
        snprintf(name, sizeof name, "recall@%d", recall_at[i]);
        if (recall_at[i] <= report->depth)
            print_score(name, &report->recall[i]);
    }
    print_score("MRR", &report->mrr);
    printf("  %-22s %zu of %zu\n", "without result", report->unanswered,
           report->questions->count);
    printf("  %-22s %.1f ms, 95 %% within %.1f ms\n", "median time",
           report->search_ms[0], report->search_ms[1]);
    if (cli->options.method)
        print_answers(report);
}

int cmd_eval(struct cli *cli, struct err *err)
{
    struct questions questions = {0};
    int code = questions_read(cli->args.items[0], &questions, err);
    if (code)
        return code;
    struct outcome *outcomes = mem_alloc(questions.count * sizeof *outcomes);
    struct report report = {
        .questions = &questions,
        .outcomes = outcomes,
        .depth = cli->options.count > 0 ? cli->options.count : DEPTH,
    };
    code = run_all(cli, &questions, outcomes, err);
    if (!code) {
        add_up(&report);
        if (cli->options.json)
            print_json(cli, &report);
        else
            print_people(cli, &report);
    }
    free(outcomes);
    questions_free(&questions);
    return code;
}
