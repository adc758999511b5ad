/* Measures search, and answers with --answers, on a file of questions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/eval_answers.h"
#include "cli/eval_report.h"
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
    double ms;
    char right_node[32]; /* of the first right result */
};

/* A column of values on which a score is computed. */
struct column {
    double *values;
    size_t count;
};

struct report {
    const struct questions *questions;
    const struct outcome *outcomes;
    const struct trials *trials;
    long depth;
    size_t unanswered;
    struct score recall[RECALLS], mrr;
    double ms[2]; /* median, 95 % quantile */
};

static void build(const struct cli *cli, const struct question *question,
                  const char *answer, struct buf *params)
{
    const struct options *options = &cli->options;
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_field_text(&json, "query", question->text);
    cli_param_text(&json, "manual", options->manual);
    cli_param_text(&json, "file", question->document);
    cli_param_text(&json, "mode", options->mode);
    if (answer)
        json_field_text(&json, "answer", answer);
    else
        json_field_int(&json, "n", options->count > 0 ? options->count : DEPTH);
    json_end(&json, '}');
}

/* `answer`: the kind asked for; NULL: a search. */
static int request(struct cli *cli, const struct question *question,
                   const char *answer, double *ret_ms, cJSON **ret_result,
                   struct err *err)
{
    struct buf params = {0}, text = {0};
    build(cli, question, answer, &params);
    double start = clock_seconds();
    int code = cli_call(cli, answer ? "ask" : "search", buf_slice(&params),
                        &text, err);
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
    int code = request(cli, question, NULL, &outcome->ms, &result, err);
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

static int ask(struct cli *cli, const struct question *question,
               const char *right_node, const struct trial *trial,
               struct reply *reply, struct err *err)
{
    cJSON *result = NULL;
    int code = request(cli, question, trial->wanted, &reply->ms, &result, err);
    if (!code)
        reply_judge(question, right_node, result, reply);
    return code;
}

static int run_all(struct cli *cli, const struct questions *questions,
                   struct outcome *outcomes, struct trials *trials,
                   struct err *err)
{
    struct progress progress = {.on = cli->progress};
    int code = 0;
    for (size_t i = 0; !code && i < questions->count; i++) {
        const struct question *question = &questions->items[i];
        progress_show(&progress, "questions", (int64_t)i,
                      (int64_t)questions->count);
        code = search(cli, question, &outcomes[i], err);
        for (size_t t = 0; t < trials->count && !code; t++)
            code = ask(cli, question, outcomes[i].right_node, &trials->items[t],
                       &trials->items[t].replies[i], err);
    }
    progress_clear(&progress);
    return code;
}

enum measure { RECALL, RECIPROCAL, MS };

static bool counts(const struct question *question, enum measure measure)
{
    return measure == MS || question_has_place(question);
}

static double value_of(const struct outcome *outcome, enum measure measure,
                       int k)
{
    bool within = outcome->rank && outcome->rank <= k;
    switch (measure) {
    case RECALL: return within;
    case RECIPROCAL: return within ? 1.0 / outcome->rank : 0;
    case MS: break;
    }
    return outcome->ms;
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

static void add_up(struct report *report)
{
    for (size_t i = 0; i < report->questions->count; i++)
        report->unanswered += !report->outcomes[i].answered;
    for (int i = 0; i < RECALLS; i++)
        report->recall[i] = score_for(report, RECALL, recall_at[i]);
    report->mrr = score_for(report, RECIPROCAL, MRR_DEPTH);
    struct column column = column_of(report, MS, 0);
    report->ms[0] = score_quantile(column.values, column.count, 0.5);
    report->ms[1] = score_quantile(column.values, column.count, 0.95);
    free(column.values);
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
        json_field_double(json, "ms", outcome->ms, 3);
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
            report_field_score(&json, key, &report->recall[i]);
        else
            json_field_null(&json, key);
    }
    report_field_score(&json, "mrr", &report->mrr);
    report_field_times(&json, report->ms);
    trials_put(report->trials, &json);
    field_ranks(&json, report);
    json_end(&json, '}');
    output_json(buf_slice(&out));
    buf_free(&out);
}

static void print_people(const struct report *report)
{
    printf("search, %zu of %zu questions say where the answer is; mean and "
           "95 %% interval\n",
           report->mrr.count, report->questions->count);
    for (int i = 0; i < RECALLS; i++) {
        char name[32];
        snprintf(name, sizeof name, "recall@%d", recall_at[i]);
        if (recall_at[i] <= report->depth)
            report_print_score(name, &report->recall[i]);
    }
    report_print_score("MRR", &report->mrr);
    printf("  %-22s %zu of %zu\n", "without result", report->unanswered,
           report->questions->count);
    report_print_times(report->ms);
    trials_print(report->trials);
}

static int evaluate(struct cli *cli, struct trials *trials, struct err *err)
{
    const struct questions *questions = trials->questions;
    struct outcome *outcomes = mem_alloc(questions->count * sizeof *outcomes);
    struct report report = {
        .questions = questions,
        .outcomes = outcomes,
        .trials = trials,
        .depth = cli->options.count > 0 ? cli->options.count : DEPTH,
    };
    int code = run_all(cli, questions, outcomes, trials, err);
    if (!code) {
        add_up(&report);
        if (cli->options.json)
            print_json(cli, &report);
        else
            print_people(&report);
    }
    free(outcomes);
    return code;
}

int cmd_eval(struct cli *cli, struct err *err)
{
    const struct options *options = &cli->options;
    struct questions questions = {0};
    struct trials trials = {.questions = &questions};
    const char *answers = options->answers;
    if (!answers && options->method)
        answers =
            strcmp(options->method, "h2mt") ? options->method : "generated";
    int code = questions_read(cli->args.items[0], &questions, err);
    if (code)
        return code;
    if (answers)
        code = trials_open(answers, &questions, &trials, err);
    if (!code)
        code = evaluate(cli, &trials, err);
    trials_close(&trials);
    questions_free(&questions);
    return code;
}
