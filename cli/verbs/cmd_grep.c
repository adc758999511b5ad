#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output/emphasis.h"
#include "cli/output/last_answer.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"

enum { SHOWN_BEFORE = 60, SHOWN_AFTER = 120, SHOWN_MATCH = 300 /* bytes */ };

static int build(struct cli *cli, struct buf *params, struct err *err)
{
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_field_text(&json, "pattern", cli->args.items[0]);
    cli_param_manuals(cli, &json);
    int code = answer_param_node(cli, &json, "under", cli->options.under, err);
    cli_param_number(&json, "n", cli->options.count);
    cli_param_true(&json, "ignore_case", cli->options.ignore_case);
    json_end(&json, '}');
    return code;
}

/* ---- The line of a match ---- */

/* A space, or the beginning of a character, from `at` on. */
static size_t cut_from(const char *text, size_t at, size_t end)
{
    size_t word = at;
    while (word < end && text[word] != ' ')
        word++;
    if (word < end)
        return word + 1;
    while (at < end && ((unsigned char)text[at] & 0xC0) == 0x80)
        at++;
    return at;
}

static void add_part(cJSON *hit, const char *name, bool cut_before,
                     const char *text, size_t size, bool cut_after)
{
    struct buf part = {0};
    buf_put_text(&part, cut_before ? "…" : "");
    buf_put(&part, text, size);
    buf_put_text(&part, cut_after ? "…" : "");
    cJSON_AddStringToObject(hit, name, part.data);
    buf_free(&part);
}

/* The daemon's numbers are of the text as it is, before it is cleaned: its parts
 * become members of their own. */
static void split(cJSON *hit)
{
    const cJSON *match = cJSON_GetObjectItemCaseSensitive(hit, "match");
    const char *text = json_get_text(hit, "text", "");
    double from = cJSON_GetNumberValue(cJSON_GetArrayItem(match, 0));
    double to = cJSON_GetNumberValue(cJSON_GetArrayItem(match, 1));
    size_t size = strlen(text);
    if (!(from >= 0 && to >= from && to <= (double)size))
        from = to = 0;
    size_t start = (size_t)from, end = (size_t)to, first = 0, last = size;
    if (start > SHOWN_BEFORE)
        first = cut_from(text, start - SHOWN_BEFORE, start);
    if (size - end > SHOWN_AFTER)
        last = cut_from(text, end + SHOWN_AFTER, size);
    add_part(hit, "before", first > 0, text + first, start - first, false);
    if (end - start > SHOWN_MATCH)
        last = end = cut_from(text, start + SHOWN_MATCH, end);
    add_part(hit, "matched", false, text + start, end - start, false);
    add_part(hit, "after", false, text + end, last - end, last < size);
}

static void print_line(const struct cli *cli, const cJSON *hit)
{
    struct buf line = {0};
    buf_printf(&line, "   %s%s%s%s%s", json_get_text(hit, "before", ""),
               cli->color ? "\033[1m" : "", json_get_text(hit, "matched", ""),
               cli->color ? "\033[22m" : "", json_get_text(hit, "after", ""));
    output_line(cli, &line, "     ");
    buf_free(&line);
}

/* ---- All of them ---- */

static void print_section(struct cli *cli, const cJSON *result,
                          const cJSON *hit)
{
    struct buf line = {0};
    cli_put_manual(&line, result, hit);
    output_put_title_path(&line, cJSON_GetObjectItemCaseSensitive(hit, "path"));
    output_line(cli, &line, "   ");
    buf_clear(&line);
    buf_put_text(&line, "   ");
    emphasis_put_place(cli, &line, hit);
    buf_printf(&line, "  (%s)", json_get_text(hit, "node", ""));
    output_dim_line(cli, &line, "   ");
    buf_free(&line);
}

static void tell_rest(struct cli *cli, const cJSON *result, int shown)
{
    long long given_up = json_get_int(result, "given_up", 0);
    fflush(stdout);
    if (given_up)
        output_remark(cli,
                      "in %lld %s the pattern goes back and forth too often: "
                      "not all of them were looked through",
                      given_up, given_up == 1 ? "place" : "places");
    if (!strcmp(json_get_text(result, "stopped", ""), "time"))
        output_remark(cli, "the pattern takes too long: stopped before the "
                           "end of the manuals");
    else if (json_get_bool(result, "more", false))
        output_remark(
            cli, "there are more than the %d shown: -n N shows up to N", shown);
}

static void print_all(struct cli *cli, const cJSON *result)
{
    const cJSON *hit;
    const char *node = "";
    int shown = 0;
    cJSON_ArrayForEach (hit,
                        cJSON_GetObjectItemCaseSensitive(result, "results")) {
        const char *here = json_get_text(hit, "node", "");
        if (strcmp(here, node) != 0) {
            fputs(shown ? "\n" : "", stdout);
            print_section(cli, result, hit);
        }
        node = here;
        print_line(cli, hit);
        shown++;
    }
    if (!shown)
        cli_tell_nothing(cli, result,
                         "No line in the manuals matches this pattern.");
    tell_rest(cli, result, shown);
}

int cmd_grep(struct cli *cli, struct err *err)
{
    struct buf params = {0}, text = {0};
    cJSON *result = NULL, *hit;
    int code = build(cli, &params, err);
    if (!code)
        code = cli_call(cli, "grep", buf_slice(&params), &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &result, err);
    if (!code) {
        cJSON *results = cJSON_GetObjectItemCaseSensitive(result, "results");
        if (!cJSON_GetArraySize(results))
            cli->status = err_exit_status(ERR_NOT_FOUND);
        cJSON_ArrayForEach (hit, results)
            split(hit);
        output_clean(result);
        cli_judge_freshness(cli, result);
        pager_begin(cli);
        if (cli->options.json)
            output_json(buf_slice(&text));
        else
            print_all(cli, result);
    }
    cJSON_Delete(result);
    buf_free(&text);
    buf_free(&params);
    return code;
}
