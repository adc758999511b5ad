/* Measures search, and answers with --answers or --method, on a file of
 * questions. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/eval/eval_answers.h"
#include "cli/eval/eval_search.h"
#include "cli/output/output.h"
#include "cli/output/progress.h"
#include "cli/eval/question_formats.h"

enum { DEPTH = 10 };

struct evaluation {
    struct questions questions;
    struct search_runs runs;
    struct trials trials;
    struct oracle oracle; /* only when a trial wants it */
};

static int run_all(struct cli *cli, struct evaluation *all, struct err *err)
{
    struct progress progress = {.on = cli->progress};
    size_t count = all->questions.count;
    int code = 0;
    if (trials_want_oracle(&all->trials))
        code = oracle_open(cli, &all->oracle, err);
    for (size_t i = 0; !code && i < count; i++) {
        progress_show(&progress, "questions", (int64_t)i, (int64_t)count);
        code = search_runs_ask(cli, &all->runs, i, err);
        if (!code)
            code = trials_ask(cli, &all->oracle, &all->trials, i,
                              all->runs.items[0].outcomes[i].right_node, err);
    }
    progress_clear(&progress);
    return code;
}

static void print_json(const struct cli *cli, const struct evaluation *all)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    json_begin(&json, '{');
    json_field_text(&json, "file", cli->args.items[0]);
    search_runs_put(&all->runs, &json);
    trials_put(&all->trials, &json);
    json_end(&json, '}');
    output_json(buf_slice(&out));
    buf_free(&out);
}

static int format_of(const char *name)
{
    static const char *const names[] = {[FORMAT_AUTO] = "auto",
                                        [FORMAT_LINES] = "lines",
                                        [FORMAT_SQUAD] = "squad",
                                        [FORMAT_QASPER] = "qasper"};
    for (int i = 0; name && i < (int)(sizeof names / sizeof names[0]); i++)
        if (!strcmp(name, names[i]))
            return i;
    return FORMAT_AUTO;
}

static int prepare(struct cli *cli, struct evaluation *all, struct err *err)
{
    const struct options *options = &cli->options;
    int code = questions_read(cli->args.items[0], format_of(options->format),
                              &all->questions, err);
    if (!code)
        code = search_runs_open(options->mode ? options->mode : "auto",
                                options->compare,
                                options->count > 0 ? options->count : DEPTH,
                                &all->questions, &all->runs, err);
    if (!code)
        code = trials_open(options->answers, options->method, &all->questions,
                           &all->trials, err);
    return code;
}

int cmd_eval(struct cli *cli, struct err *err)
{
    struct evaluation all = {0};
    int code = prepare(cli, &all, err);
    if (!code)
        code = run_all(cli, &all, err);
    if (!code && cli->options.json)
        print_json(cli, &all);
    else if (!code) {
        search_runs_print(&all.runs);
        trials_print(&all.trials);
    }
    oracle_close(&all.oracle);
    trials_close(&all.trials);
    search_runs_close(&all.runs);
    questions_free(&all.questions);
    return code;
}
