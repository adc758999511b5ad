/* Questions of a file as the benchmarks ask them behind a text. */
#ifndef TESTS_BENCH_TEXT_QUESTIONS_H
#define TESTS_BENCH_TEXT_QUESTIONS_H

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "model/model.h"

/* Ids of up to `max` of the file's questions, evenly spaced, each as a prompt's end. */
static inline int read_questions(struct model *m, const char *path, size_t max,
                                 struct ids *ret, struct err *err)
{
    struct buf file = {0}, text = {0};
    const char *lines[4096], *end;
    size_t count = 0;
    int code = file_read(path, 1 << 24, &file, err);
    for (const char *at = file.data; !code && *at && count < 4096;
         at = end + 1) {
        lines[count++] = at;
        end = strchr(at, '\n');
        if (!end)
            break;
    }
    if (!code && count < max)
        code = err_set(err, ERR_USAGE, "there are too few questions");
    for (size_t i = 0; i < max && !code; i++) {
        const char *line = lines[i * count / max];
        const struct slice its = {line, strcspn(line, "\n")};
        cJSON *value = NULL;
        code = json_parse(its, &value, err);
        if (code)
            break;
        buf_clear(&text);
        buf_printf(&text, "\n\nQuestion: %s\nAnswer:",
                   json_get_text(value, "question", ""));
        cJSON_Delete(value);
        code = tokenizer_encode(model_tokenizer(m), buf_slice(&text), false,
                                &ret[i], err);
    }
    buf_free(&text);
    buf_free(&file);
    return code;
}

#endif
