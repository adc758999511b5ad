#include "cli/eval/questions.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/eval/question_formats.h"

enum { MAX_BYTES = 256 << 20 };

static bool all_text(const cJSON *array)
{
    const cJSON *item;
    if (!cJSON_IsArray(array))
        return false;
    cJSON_ArrayForEach (item, array)
        if (!cJSON_IsString(item))
            return false;
    return true;
}

/* The member unless it is null. */
static const cJSON *member(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNull(item) ? NULL : item;
}

static void add_text(struct text_list *list, const char *text)
{
    MEM_RESERVE(list->items, &list->capacity, list->count + 1);
    list->items[list->count++] = text;
}

/* A text or an array of them; NULL on success, else what is wrong. */
static const char *take_texts(const cJSON *value, struct text_list *list,
                              const char *wrong)
{
    const cJSON *item;
    if (!value)
        return NULL;
    if (cJSON_IsString(value)) {
        add_text(list, value->valuestring);
        return NULL;
    }
    if (!all_text(value))
        return wrong;
    cJSON_ArrayForEach (item, value)
        add_text(list, item->valuestring);
    return NULL;
}

static const char *take_sections(struct question *question)
{
    const cJSON *one = member(question->line, "section");
    const cJSON *several = member(question->line, "sections");
    const cJSON *item;
    if (one && !all_text(one))
        return "\"section\" is not a list of titles";
    if (several && !cJSON_IsArray(several))
        return "\"sections\" is not a list";
    cJSON_ArrayForEach (item, several)
        if (!all_text(item))
            return "\"sections\" is not a list of lists of titles";
    question->section = cJSON_GetArraySize(one) ? one : NULL;
    question->sections = cJSON_GetArraySize(several) ? several : NULL;
    return NULL;
}

static const char *take_pages(struct question *question)
{
    const cJSON *pages = member(question->line, "pages");
    if (pages && !all_text(pages))
        return "\"pages\" is not a list of files";
    question->pages = cJSON_GetArraySize(pages) ? pages : NULL;
    return NULL;
}

static const char *take_unanswerable(struct question *question)
{
    const cJSON *unanswerable = member(question->line, "unanswerable");
    if (unanswerable && !cJSON_IsBool(unanswerable))
        return "\"unanswerable\" is neither true nor false";
    question->unanswerable = cJSON_IsTrue(unanswerable);
    return NULL;
}

static const char *take_question(struct question *question)
{
    const cJSON *line = question->line;
    const cJSON *document = member(line, "document");
    if (!cJSON_IsObject(line))
        return "not a JSON object";
    question->id = json_get_text(line, "id", "");
    question->text = json_get_text(line, "question", "");
    if (!question->text[0])
        return "no \"question\"";
    if (document && !cJSON_IsString(document))
        return "\"document\" is not a text";
    question->document = document ? document->valuestring : NULL;
    const char *wrong = take_sections(question);
    if (!wrong)
        wrong = take_pages(question);
    if (!wrong)
        wrong = take_unanswerable(question);
    if (!wrong)
        wrong = take_texts(member(line, "evidence"), &question->evidence,
                           "\"evidence\" is not a list of texts");
    if (!wrong)
        wrong = take_texts(member(line, "answer"), &question->answers,
                           "\"answer\" is not a text or a list of texts");
    if (!wrong && question->unanswerable &&
        (question_has_place(question) || question->answers.count))
        return "it is \"unanswerable\", and has an answer";
    return wrong;
}

static int take_line(struct slice text, const char *path, size_t number,
                     struct questions *questions, struct err *err)
{
    struct err problem = {0};
    MEM_RESERVE(questions->items, &questions->capacity, questions->count + 1);
    struct question *question = &questions->items[questions->count];
    *question = (struct question){0};
    const char *wrong = problem.message;
    if (!json_parse(text, &question->line, &problem)) {
        questions->count++;
        wrong = take_question(question);
    }
    if (!wrong)
        return 0;
    err_set(err, ERR_USAGE, "%s:%zu: %s", path, number, wrong);
    if (err)
        err_at(err, path);
    return ERR_USAGE;
}

int questions_parse(struct slice text, const char *path, struct questions *ret,
                    struct err *err)
{
    struct questions questions = {0};
    size_t number = 0;
    int code = 0;
    while (!code && text.size) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        size_t blank = 0;
        while (blank < size && strchr(" \t\r", text.data[blank]))
            blank++;
        number++;
        if (blank < size)
            code = take_line((struct slice){text.data, size}, path, number,
                             &questions, err);
        size += end != NULL;
        text = (struct slice){text.data + size, text.size - size};
    }
    if (!code && !questions.count)
        code = err_set(err, ERR_USAGE, "%s has no questions", path);
    if (code)
        questions_free(&questions);
    else
        *ret = questions;
    return code;
}

int questions_read(const char *path, int format, struct questions *ret,
                   struct err *err)
{
    struct buf text = {0}, lines = {0};
    if (file_read(path, MAX_BYTES, &text, err))
        return err ? err->code = ERR_USAGE : ERR_USAGE;
    int code = question_lines(buf_slice(&text), path, format, &lines, err);
    if (!code)
        code = questions_parse(buf_slice(lines.size ? &lines : &text), path,
                               ret, err);
    buf_free(&lines);
    buf_free(&text);
    return code;
}

void questions_free(struct questions *questions)
{
    for (size_t i = 0; i < questions->count; i++) {
        free(questions->items[i].evidence.items);
        free(questions->items[i].answers.items);
        cJSON_Delete(questions->items[i].line);
    }
    free(questions->items);
    *questions = (struct questions){0};
}

bool question_has_place(const struct question *question)
{
    return question->section || question->sections || question->pages ||
           question->evidence.count;
}

/* A title of signs alone, such as an operator's, stays as it is. */
static void fold_title(struct buf *out, const char *title)
{
    text_fold_compare(out, slice_of(title));
    if (!out->size)
        text_fold_space(out, slice_of(title));
}

static bool same_title(const cJSON *a, const cJSON *b)
{
    struct buf one = {0}, other = {0};
    bool same = cJSON_IsString(a) && cJSON_IsString(b);
    if (same) {
        fold_title(&one, a->valuestring);
        fold_title(&other, b->valuestring);
        same = slice_equal(buf_slice(&one), buf_slice(&other));
    }
    buf_free(&one);
    buf_free(&other);
    return same;
}

/* `below`: titles at the end of the path that are left aside. */
static bool ends_with(const cJSON *path, int below, const cJSON *section)
{
    int length = cJSON_GetArraySize(path) - below;
    int size = cJSON_GetArraySize(section);
    if (!size || size > length)
        return false;
    for (int i = 0; i < size; i++)
        if (!same_title(cJSON_GetArrayItem(path, length - size + i),
                        cJSON_GetArrayItem(section, i)))
            return false;
    return true;
}

/* Whole words of the folded texts: a space at either end of both. */
static bool holds(const char *text, const struct text_list *passages)
{
    struct buf folded = {0}, padded = {0};
    bool found = false;
    text_fold_compare(&folded, slice_of(text));
    buf_printf(&padded, " %s ", folded.data);
    for (size_t i = 0; !found && i < passages->count; i++) {
        struct buf passage = {0}, wanted = {0};
        text_fold_compare(&passage, slice_of(passages->items[i]));
        buf_printf(&wanted, " %s ", passage.data);
        found = passage.size &&
                memmem(padded.data, padded.size, wanted.data, wanted.size);
        buf_free(&passage);
        buf_free(&wanted);
    }
    buf_free(&folded);
    buf_free(&padded);
    return found;
}

static bool leads_to(const struct question *question, const cJSON *path,
                     int below)
{
    const cJSON *section;
    if (ends_with(path, below, question->section))
        return true;
    cJSON_ArrayForEach (section, question->sections)
        if (ends_with(path, below, section))
            return true;
    return false;
}

static bool is_page(const struct question *question, const char *file)
{
    const cJSON *page;
    cJSON_ArrayForEach (page, question->pages)
        if (!strcmp(page->valuestring, file))
            return true;
    return false;
}

bool question_is_right(const struct question *question, const cJSON *result)
{
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(result, "path");
    bool entry = json_get_bool(result, "entry", false);
    if (leads_to(question, path, 0) || (entry && leads_to(question, path, 1)))
        return true;
    if (is_page(question, json_get_text(result, "file", "")))
        return true;
    const char *quote = json_get_text(result, "quote", "");
    return question->evidence.count &&
           holds(json_get_text(result, "text", quote), &question->evidence);
}
