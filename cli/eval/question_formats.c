#include "cli/eval/question_formats.h"

#include <string.h>

#include "base/json.h"

static const cJSON *item(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static bool is_text(const cJSON *value)
{
    return cJSON_IsString(value) && value->valuestring[0];
}

static void begin_line(struct json *json, const cJSON *question,
                       const char *id_key)
{
    json_begin(json, '{');
    json_field_text(json, "id", json_get_text(question, id_key, ""));
    json_field_text(json, "question", json_get_text(question, "question", ""));
}

static void end_line(struct json *json)
{
    json_end(json, '}');
    buf_put_byte(json->out, '\n');
    json->comma = false;
}

/* ---- SQuAD ---- */

static void put_squad(struct buf *out, const cJSON *question,
                      const char *context, const char *document)
{
    struct json json = json_to(out);
    const cJSON *answer;
    bool impossible = json_get_bool(question, "is_impossible", false);
    begin_line(&json, question, "id");
    json_field_text(&json, "document", document);
    json_field_bool(&json, "unanswerable", impossible);
    json_key(&json, "answer");
    json_begin(&json, '[');
    cJSON_ArrayForEach (answer, item(question, "answers"))
        if (!impossible && is_text(item(answer, "text")))
            json_text(&json, item(answer, "text")->valuestring);
    json_end(&json, ']');
    json_key(&json, "evidence");
    json_begin(&json, '[');
    if (!impossible && context)
        json_text(&json, context);
    json_end(&json, ']');
    end_line(&json);
}

static void squad_lines(const cJSON *all, struct buf *out)
{
    const cJSON *article, *paragraph, *question;
    cJSON_ArrayForEach (article, item(all, "data")) {
        const char *document = json_get_text(article, "document", NULL);
        cJSON_ArrayForEach (paragraph, item(article, "paragraphs"))
            cJSON_ArrayForEach (question, item(paragraph, "qas"))
                put_squad(out, question,
                          json_get_text(paragraph, "context", NULL), document);
    }
}

static bool is_squad(const cJSON *all)
{
    const cJSON *data = item(all, "data");
    return cJSON_IsArray(data) &&
           cJSON_IsArray(item(cJSON_GetArrayItem(data, 0), "paragraphs"));
}

/* ---- Qasper ---- */

static void put_spans(struct json *json, const cJSON *spans)
{
    struct buf joined = {0};
    const cJSON *span;
    cJSON_ArrayForEach (span, spans) {
        if (!is_text(span))
            continue;
        buf_put_text(&joined, joined.size ? ", " : "");
        buf_put_text(&joined, span->valuestring);
    }
    if (joined.size)
        json_string(json, buf_slice(&joined));
    buf_free(&joined);
}

static void put_qasper_answers(struct json *json, const cJSON *answers)
{
    const cJSON *one;
    json_key(json, "answer");
    json_begin(json, '[');
    cJSON_ArrayForEach (one, answers) {
        const cJSON *answer = item(one, "answer");
        if (is_text(item(answer, "free_form_answer")))
            json_text(json, item(answer, "free_form_answer")->valuestring);
        if (cJSON_IsBool(item(answer, "yes_no")))
            json_text(json,
                      cJSON_IsTrue(item(answer, "yes_no")) ? "Yes" : "No");
        put_spans(json, item(answer, "extractive_spans"));
    }
    json_end(json, ']');
}

static void put_qasper_evidence(struct json *json, const cJSON *answers)
{
    static const char figure[] = "FLOAT SELECTED";
    const cJSON *one, *passage;
    json_key(json, "evidence");
    json_begin(json, '[');
    cJSON_ArrayForEach (one, answers)
        cJSON_ArrayForEach (passage, item(item(one, "answer"), "evidence"))
            if (is_text(passage) &&
                strncmp(passage->valuestring, figure, sizeof figure - 1) != 0)
                json_text(json, passage->valuestring);
    json_end(json, ']');
}

static bool all_say_unanswerable(const cJSON *answers)
{
    const cJSON *one;
    cJSON_ArrayForEach (one, answers)
        if (!json_get_bool(item(one, "answer"), "unanswerable", false))
            return false;
    return cJSON_GetArraySize(answers) > 0;
}

static void put_qasper(struct buf *out, const cJSON *question,
                       const char *document)
{
    const cJSON *answers = item(question, "answers");
    bool unanswerable = all_say_unanswerable(answers);
    struct json json = json_to(out);
    begin_line(&json, question, "question_id");
    json_field_text(&json, "document", document);
    json_field_bool(&json, "unanswerable", unanswerable);
    if (!unanswerable) {
        put_qasper_answers(&json, answers);
        put_qasper_evidence(&json, answers);
    }
    end_line(&json);
}

static void qasper_lines(const cJSON *all, struct buf *out)
{
    const cJSON *paper, *question;
    cJSON_ArrayForEach (paper, all) {
        struct buf file = {0};
        buf_printf(&file, "%s.html", paper->string);
        const char *document = json_get_text(paper, "document", file.data);
        cJSON_ArrayForEach (question, item(paper, "qas"))
            put_qasper(out, question, document);
        buf_free(&file);
    }
}

static bool is_qasper(const cJSON *all)
{
    const cJSON *paper = all ? all->child : NULL;
    return cJSON_IsObject(all) && cJSON_IsObject(paper) &&
           cJSON_IsArray(item(paper, "qas"));
}

/* ---- Which it is ---- */

int question_lines(struct slice text, const char *path, int format,
                   struct buf *ret_lines, struct err *err)
{
    cJSON *all = NULL;
    struct err why = {.position = -1};
    if (format == FORMAT_LINES)
        return 0;
    int code = json_parse(text, &all, &why);
    if (format == FORMAT_AUTO && is_squad(all))
        format = FORMAT_SQUAD;
    else if (format == FORMAT_AUTO && is_qasper(all))
        format = FORMAT_QASPER;
    if (format == FORMAT_SQUAD && is_squad(all))
        squad_lines(all, ret_lines);
    else if (format == FORMAT_QASPER && is_qasper(all))
        qasper_lines(all, ret_lines);
    else if (format != FORMAT_AUTO)
        code = err_set(err, ERR_USAGE, "%s is not a file of %s%s%s", path,
                       format == FORMAT_SQUAD ? "SQuAD" : "Qasper",
                       code ? ": " : "", code ? why.message : "");
    else
        code = 0;
    if (!code && format != FORMAT_AUTO && !ret_lines->size)
        code = err_set(err, ERR_USAGE, "%s has no questions", path);
    cJSON_Delete(all);
    return code;
}
