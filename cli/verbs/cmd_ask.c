#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/last_answer.h"
#include "cli/cli.h"
#include "cli/output/option_card.h"
#include "cli/output/emphasis.h"
#include "cli/output/explain.h"
#include "cli/output/output.h"
#include "cli/output/pager.h"
#include "cli/output/terminal.h"
#include "daemon/net/protocol.h"

/* People may watch a model write; scripts get events for the asking. */
static bool is_streamed(const struct cli *cli)
{
    const struct options *options = &cli->options;
    bool generated = options->answer && !strcmp(options->answer, "generated");
    return options->jsonl || (generated && !options->json && cli->columns);
}

static void build_sampling(const struct options *options, struct json *json)
{
    cli_param_decimal(json, "temperature", options->temperature);
    cli_param_number(json, "top_k", options->top_k);
    cli_param_decimal(json, "top_p", options->top_p);
    cli_param_decimal(json, "min_p", options->min_p);
    cli_param_decimal(json, "repetition_penalty", options->penalty);
    cli_param_number(json, "seed", options->seed);
    if (!options->stop_sequences.count)
        return;
    json_key(json, "stop");
    json_begin(json, '[');
    for (size_t i = 0; i < options->stop_sequences.count; i++)
        json_text(json, options->stop_sequences.items[i]);
    json_end(json, ']');
}

static int build(struct cli *cli, struct buf *params, struct err *err)
{
    struct json json = json_to(params);
    json_begin(&json, '{');
    int code = cli_param_search(cli, &json, err);
    cli_param_text(&json, "answer", cli->options.answer);
    if (cli->options.brief && cli->options.full)
        code = err_set(err, ERR_USAGE, "--brief and --full: choose one");
    cli_param_text(&json, "extent",
                   cli->options.brief  ? "brief"
                   : cli->options.full ? "full"
                                       : NULL);
    cli_param_number(&json, "max_tokens", cli->options.max_tokens);
    cli_param_number(&json, "context", cli->options.context);
    build_sampling(&cli->options, &json);
    if (cli->options.count > PROTOCOL_MAX_QUOTED)
        output_remark(cli, "-n %ld: an answer quotes at most %d sections",
                      cli->options.count, PROTOCOL_MAX_QUOTED);
    cli_param_true(&json, "stream", is_streamed(cli));
    cli_param_true(&json, "strict", cli->options.strict);
    cli_param_text(&json, "session", cli->options.session);
    json_end(&json, '}');
    return code;
}

static bool is_none(const cJSON *result)
{
    return !strcmp(json_get_text(result, "kind", "none"), "none");
}

/* What is said of a citation's status beside its place. */
static const char *remark_of(const cJSON *citation)
{
    const char *status = json_get_text(citation, "status", "");
    if (!strcmp(status, "unverified"))
        return "  (not verified)";
    return strcmp(status, "stored") ? "" : "  (its file is not here)";
}

/* Whether two citations have one line: of verified and repaired ones it reads
 * the same. */
static bool same_line(const cJSON *a, const cJSON *b)
{
    static const char *const members[] = {"node", "file"};
    for (size_t i = 0; b && i < sizeof members / sizeof *members; i++)
        if (strcmp(json_get_text(a, members[i], ""),
                   json_get_text(b, members[i], "")) != 0)
            return false;
    return b && !strcmp(remark_of(a), remark_of(b));
}

/* "[1] ", "[1-3] ": the citations of a section that follow one another. */
static void put_numbers(struct buf *line, const cJSON *first, const cJSON *last)
{
    long long from = json_get_int(first, "n", 0),
              to = json_get_int(last, "n", 0);
    if (from == to)
        buf_printf(line, "[%lld] ", from);
    else
        buf_printf(line, "[%lld-%lld] ", from, to);
}

/* The literal words behind what the model says in its own, each line marked. */
static void print_evidence(const struct cli *cli, const cJSON *citation,
                           const char *answer)
{
    const char *quote = json_get_text(citation, "quote", "");
    if (!quote[0] || strstr(answer, quote))
        return;
    for (const char *at = quote; at; at = strchr(at, '\n')) {
        struct buf line = {0};
        at += *at == '\n';
        buf_put_text(&line, "    > ");
        buf_put(&line, at, strcspn(at, "\n"));
        output_dim_line(cli, &line, "    > ");
        buf_free(&line);
    }
}

static void print_citations(struct cli *cli, const cJSON *result)
{
    const char *answer = json_get_text(result, "answer", "");
    bool written = !strcmp(json_get_text(result, "kind", ""), "generated");
    const cJSON *citation =
        cJSON_GetObjectItemCaseSensitive(result, "citations");
    const char *before = "\n";
    for (citation = citation ? citation->child : NULL; citation;
         citation = citation->next) {
        const cJSON *first = citation;
        struct buf line = {0};
        while (same_line(first, citation->next))
            citation = citation->next;
        fputs(before, stdout);
        before = "";
        put_numbers(&line, first, citation);
        cli_put_manual(&line, result, first);
        output_put_title_path(&line,
                              cJSON_GetObjectItemCaseSensitive(first, "path"));
        buf_put_text(&line, "  ");
        emphasis_put_place(cli, &line, first);
        buf_put_text(&line, remark_of(first));
        output_dim_line(cli, &line, "    ");
        buf_free(&line);
        for (; written && first != citation->next; first = first->next)
            print_evidence(cli, first, answer);
    }
}

/* Broken to fit a terminal, with the words of the question in bold. */
static void print_quote(const struct cli *cli, const cJSON *result,
                        const char *answer)
{
    struct buf text = {0}, broken = {0};
    bool begins = true;
    if (cli->columns) {
        emphasis_put_words(cli, &text, answer, result);
        terminal_put_prose(&broken, buf_slice(&text), cli->columns);
        buf_clear(&text);
    } else {
        buf_put_text(&broken, answer);
    }
    buf_put(&broken, "", 0);
    /* Last, since a line that was broken may begin as a citation does. */
    output_put_quote(&text, broken.data, &begins);
    fwrite(text.data, 1, text.size, stdout);
    buf_free(&text);
    buf_free(&broken);
}

/* The answer, unless it was shown as it came. */
static void print_text(const struct cli *cli, const cJSON *result,
                       const struct buf *shown)
{
    const char *answer = json_get_text(result, "answer", "");
    size_t size = strlen(answer);
    bool same = shown->size && slice_is(buf_slice(shown), answer);
    if (shown->size && !same) {
        fputs("\n\n", stdout);
        fflush(stdout);
        output_remark(cli, "what follows is as the manuals have it");
    }
    if (!same)
        print_quote(cli, result, answer);
    if (size && answer[size - 1] != '\n')
        putchar('\n');
}

static void remark_doubt(const struct cli *cli, const cJSON *result)
{
    if (json_get_bool(result, "doubtful", false))
        output_remark(cli, "the manuals may not answer this (%.0f %% sure)",
                      100 * json_get_double(result, "confidence", 0));
}

/* What is missing in it, and why it would not have been shown, had it not been asked
 * for. */
static void remark_missing(const struct cli *cli, const cJSON *result)
{
    const char *why = json_get_text(result, "declined", NULL);
    long long dropped = json_get_int(result, "dropped", 0);
    if (dropped) {
        fflush(stdout);
        output_remark(cli, "%lld %s of the model's not shown: %s in no passage",
                      dropped, dropped == 1 ? "sentence" : "sentences",
                      dropped == 1 ? "it stands" : "they stand");
    }
    if (json_get_bool(result, "truncated", false)) {
        fflush(stdout);
        output_remark(cli, "the answer ends where no more was to be written "
                           "(--max-tokens)");
    }
    if (!why || strcmp(json_get_text(result, "kind", ""), "generated") != 0)
        return;
    fflush(stdout);
    output_remark(cli, "this is not to be relied on: %s", why);
}

/* Whether a model's answer is shown whatever it is; else passages take its place. */
static bool only_written(const struct options *options)
{
    return options->context >= 0 ||
           (options->answer && !strcmp(options->answer, "generated"));
}

static const char *why_none(const struct cli *cli, const cJSON *result)
{
    if (only_written(&cli->options) && json_get_text(result, "declined", NULL))
        return "The model has written nothing.";
    if (!json_get_int(result, "unquoted", 0))
        return "Nothing in the manuals answers this.";
    if (json_get_bool(result, "fresh", false))
        return "What answers this cannot be quoted: its words do not stand "
               "so in the files, as where macros write them (lectern search "
               "finds it, lectern get shows it as it was read).";
    return "What answers this cannot be quoted: the files have changed "
           "or are gone since they were indexed (lectern update).";
}

static void print_answer(struct cli *cli, const cJSON *result,
                         const struct buf *shown)
{
    if (is_none(result)) {
        cli_tell_nothing(cli, result, why_none(cli, result));
    } else {
        remark_doubt(cli, result);
        option_card_print(cli, result);
        print_text(cli, result, shown);
        print_citations(cli, result);
        remark_missing(cli, result);
    }
    cli_tell_nowhere(cli, result, !is_none(result));
    cli_remark_expanded(cli, result);
    if (cli->options.explain)
        explain_print(result);
}

static void print_cleanly(struct cli *cli, cJSON *result, struct buf *shown)
{
    output_clean(result);
    output_make_printable(shown);
    print_answer(cli, result, shown);
}

/* An object with "event" in front, but for the members that are not wanted. */
static void print_event(const char *event, const cJSON *object)
{
    const cJSON *member;
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "event", event);
    cJSON_ArrayForEach (member, object)
        if (strcmp(member->string, "id") != 0 &&
            strcmp(member->string, "event") != 0)
            cJSON_AddItemToObject(line, member->string,
                                  cJSON_Duplicate(member, true));
    char *text = cJSON_PrintUnformatted(line);
    if (text)
        output_json(slice_of(text));
    fflush(stdout);
    free(text);
    cJSON_Delete(line);
}

/* What is printed while the answer comes. */
struct listener {
    const struct cli *cli;
    struct buf shown; /* of the answer */
    bool begins;      /* at the beginning of a line */
};

static void print_piece(const char *text, bool *begins)
{
    struct buf piece = {0};
    output_put_quote(&piece, text, begins);
    buf_put(&piece, "", 0);
    output_text(piece.data);
    buf_free(&piece);
}

static void hear(void *user, struct slice method, struct slice params)
{
    struct listener *listener = user;
    cJSON *object;
    if (!slice_is(method, "\"event\"") || json_parse(params, &object, NULL))
        return;
    const char *event = json_get_text(object, "event", "");
    if (listener->cli->options.jsonl) {
        print_event(event, object);
    } else if (!strcmp(event, "token")) {
        const char *text = json_get_text(object, "text", "");
        buf_put_text(&listener->shown, text);
        print_piece(text, &listener->begins);
        fflush(stdout);
    }
    cJSON_Delete(object);
}

static void judge(struct cli *cli, const cJSON *result)
{
    if (is_none(result))
        cli->status = err_exit_status(ERR_NOT_FOUND);
    cli_judge_freshness(cli, result);
}

int cmd_ask(struct cli *cli, struct err *err)
{
    struct buf params = {0}, text = {0};
    struct listener listener = {.cli = cli, .begins = true};
    cJSON *result = NULL;
    int code = build(cli, &params, err);
    if (!code)
        code = is_streamed(cli)
                   ? cli_call_hearing(cli, "ask", buf_slice(&params), hear,
                                      &listener, &text, err)
                   : cli_call(cli, "ask", buf_slice(&params), &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &result, err);
    if (code && listener.shown.size)
        putchar('\n');
    if (!code) {
        answer_save(cli, result);
        judge(cli, result);
        if (!is_streamed(cli))
            pager_begin(cli);
        if (cli->options.jsonl)
            print_event("done", result);
        else if (cli->options.json)
            output_json(buf_slice(&text));
        else
            print_cleanly(cli, result, &listener.shown);
    }
    cJSON_Delete(result);
    buf_free(&listener.shown);
    buf_free(&text);
    buf_free(&params);
    return code;
}
