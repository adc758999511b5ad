#include <stdio.h>
#include <stdlib.h>

#include "cli/output/last_answer.h"
#include "cli/cli.h"
#include "cli/output/emphasis.h"
#include "cli/output/explain.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"

enum { MAX_COPIES = 3 /* that are named */ };

static int build(struct cli *cli, struct buf *params, struct err *err)
{
    struct json json = json_to(params);
    json_begin(&json, '{');
    int code = cli_param_search(cli, &json, err);
    cli_param_true(&json, "strict", cli->options.strict);
    json_end(&json, '}');
    return code;
}

/* The section's text; where it has none, the titles of its parts. */
static void put_text(const cJSON *hit, struct buf *out)
{
    const cJSON *child;
    buf_put_text(out, json_get_text(hit, "text", ""));
    cJSON_ArrayForEach (child,
                        cJSON_GetObjectItemCaseSensitive(hit, "children")) {
        buf_put_text(out, out->size ? " · " : "");
        buf_put_text(out, json_get_text(child, "title", ""));
    }
    buf_put(out, "", 0);
}

/* What says the same in another version or language. */
static void print_copies(const struct cli *cli, const cJSON *hit)
{
    const cJSON *copy,
        *copies = cJSON_GetObjectItemCaseSensitive(hit, "copies");
    struct buf text = {0};
    int number = 0, count = cJSON_GetArraySize(copies);
    cJSON_ArrayForEach (copy, copies) {
        if (number++ == MAX_COPIES)
            break;
        buf_printf(&text, "%s%s: %s  (%s)", number > 1 ? ", " : "   also ",
                   json_get_text(copy, "manual", ""),
                   json_get_text(copy, "file", ""),
                   json_get_text(copy, "node", ""));
    }
    if (count > MAX_COPIES)
        buf_printf(&text, " and %d more", count - MAX_COPIES);
    if (count)
        output_dim_line(cli, &text, "   ");
    buf_free(&text);
}

static void print_hit(struct cli *cli, int number, const cJSON *result,
                      const cJSON *hit)
{
    struct buf line = {0}, titles = {0}, contents = {0}, text = {0};
    int columns = cli->columns ? cli->columns : 80;
    buf_printf(&line, "%d. ", number);
    cli_put_manual(&line, result, hit);
    output_put_title_path(&titles,
                          cJSON_GetObjectItemCaseSensitive(hit, "path"));
    emphasis_put_words(cli, &line, titles.data, result);
    output_line(cli, &line, "   ");
    buf_clear(&line);
    buf_put_text(&line, "   ");
    emphasis_put_place(cli, &line, hit);
    buf_printf(&line, "  (%s)", json_get_text(hit, "node", ""));
    output_dim_line(cli, &line, "   ");
    put_text(hit, &contents);
    emphasis_put_words(cli, &text, contents.data, result);
    buf_clear(&line);
    output_put_start_of_text(&line, text.data ? text.data : "", 2,
                             columns < 100 ? columns : 100, "   ");
    fwrite(line.data, 1, line.size, stdout);
    buf_free(&line);
    buf_free(&titles);
    buf_free(&contents);
    buf_free(&text);
    print_copies(cli, hit);
}

static void remark_reranked(const struct cli *cli, const cJSON *result)
{
    const cJSON *reranked =
        cJSON_GetObjectItemCaseSensitive(result, "reranked");
    if (reranked)
        output_remark(cli, "with the reranker %s, which read %lld sections",
                      json_get_text(reranked, "by", ""),
                      (long long)json_get_int(reranked, "sections", 0));
}

static void print_hits(struct cli *cli, const cJSON *result)
{
    const cJSON *hits = cJSON_GetObjectItemCaseSensitive(result, "results");
    const cJSON *hit;
    int number = 0;
    cJSON_ArrayForEach (hit, hits) {
        if (number)
            putchar('\n');
        print_hit(cli, ++number, result, hit);
    }
    if (!number)
        cli_tell_nothing(cli, result, "Nothing in the manuals matches this.");
    cli_tell_nowhere(cli, result, number > 0);
    cli_remark_expanded(cli, result);
    remark_reranked(cli, result);
    if (number &&
        cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(result, "confident")))
        output_remark(cli, "nothing in the manuals seems to answer this; these "
                           "are the nearest sections");
    if (cli->options.explain)
        explain_print(result);
}

int cmd_search(struct cli *cli, struct err *err)
{
    struct buf params = {0}, text = {0};
    cJSON *result = NULL;
    int code = build(cli, &params, err);
    if (!code)
        code = cli_call(cli, "search", buf_slice(&params), &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &result, err);
    if (!code) {
        if (!cJSON_GetArraySize(
                cJSON_GetObjectItemCaseSensitive(result, "results")))
            cli->status = err_exit_status(ERR_NOT_FOUND);
        answer_save_results(cli, result);
        output_clean(result);
        cli_judge_freshness(cli, result);
        pager_begin(cli);
        if (cli->options.json)
            output_json(buf_slice(&text));
        else
            print_hits(cli, result);
    }
    cJSON_Delete(result);
    buf_free(&text);
    buf_free(&params);
    return code;
}
