#include "cli/eval/eval_request.h"

#include <stdio.h>

#include "base/file.h"

static void build(const struct cli *cli, const struct eval_request *request,
                  struct buf *params)
{
    const struct question *question = request->question;
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_field_text(&json, "query",
                    request->query ? request->query : question->text);
    cli_param_text(&json, "manual", cli->options.manual);
    cli_param_text(&json, "file", question->document);
    cli_param_text(&json, "method", request->whole);
    if (!request->whole)
        cli_param_text(&json, "mode", request->mode);
    cli_param_text(&json, "answer", request->answer);
    cli_param_text(&json, "under", request->under);
    if (request->count > 0)
        json_field_int(&json, "n", request->count);
    json_end(&json, '}');
}

int eval_request(struct cli *cli, const struct eval_request *request,
                 double *ret_ms, cJSON **ret_result, struct err *err)
{
    const char *id = request->question->id;
    struct buf params = {0}, text = {0};
    build(cli, request, &params);
    double start = clock_seconds();
    const char *verb = request->whole    ? "whole"
                       : request->answer ? "ask"
                                         : "search";
    int code = cli_call(cli, verb, buf_slice(&params), &text, err);
    *ret_ms = (clock_seconds() - start) * 1e3;
    if (!code)
        code = json_parse(buf_slice(&text), ret_result, err);
    if (code && err && code != ERR_CANCELLED && id[0]) {
        char message[sizeof err->message];
        snprintf(message, sizeof message, "%s", err->message);
        snprintf(err->message, sizeof err->message, "question %.80s: %.500s",
                 id, message);
    }
    buf_free(&params);
    buf_free(&text);
    return code;
}
