#include "cli/output/output.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/output/emphasis.h"
#include "cli/output/terminal.h"

/* Marks, embeddings, overrides and isolates of the Unicode bidirectional algorithm,
 * and its separators of lines and paragraphs. */
static bool turns_text(uint32_t c)
{
    return c == 0x061C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

static bool is_control(uint32_t c)
{
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) ||
           turns_text(c);
}

void output_make_printable(struct buf *text)
{
    size_t to = 0;
    for (size_t at = 0, step; at < text->size; at += step) {
        uint32_t c = text_decode(text->data, text->size, at, &step);
        if (is_control(c))
            continue;
        memmove(text->data + to, text->data + at, step);
        to += step;
    }
    text->size = to;
    if (text->data)
        text->data[to] = '\0';
}

void output_make_label(struct buf *text)
{
    output_make_printable(text);
    for (size_t i = 0; i < text->size; i++)
        if (text->data[i] == '\n' || text->data[i] == '\t')
            text->data[i] = ' ';
}

static bool is_long_text(const cJSON *value)
{
    static const char *const names[] = {"text", "answer", "quote"};
    for (size_t i = 0; value->string && i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(value->string, names[i]))
            return true;
    return false;
}

/* Never longer than it was, so that it is done in place. */
static void clean_string(cJSON *value)
{
    struct buf text = {0};
    buf_put_text(&text, value->valuestring);
    if (is_long_text(value))
        output_make_printable(&text);
    else
        output_make_label(&text);
    memcpy(value->valuestring, text.data, text.size + 1);
    buf_free(&text);
}

void output_clean(cJSON *result)
{
    cJSON *member;
    if (cJSON_IsString(result))
        clean_string(result);
    cJSON_ArrayForEach (member, result)
        output_clean(member); /* json_parse has bounded the depth */
}

void output_put_quote(struct buf *out, const char *text, bool *begins)
{
    const char *end = text + strlen(text);
    for (; *text; text++) {
        size_t escape =
            terminal_escape_size((struct slice){text, (size_t)(end - text)}, 0);
        if (escape) {
            buf_put(out, text, escape);
            text += escape - 1;
            continue;
        }
        if (*begins && *text == '[')
            buf_put_text(out, "  ");
        if (*text != ' ' && *text != '\t')
            *begins = *text == '\n';
        buf_put_byte(out, *text);
    }
}

void output_text(const char *text)
{
    struct buf clean = {0};
    buf_put_text(&clean, text);
    output_make_printable(&clean);
    fwrite(clean.data, 1, clean.size, stdout);
    buf_free(&clean);
}

void output_dim(const struct cli *cli, const char *text)
{
    if (cli->color)
        fputs("\033[2m", stdout);
    output_text(text);
    if (cli->color)
        fputs("\033[0m", stdout);
}

void output_line(const struct cli *cli, const struct buf *line,
                 const char *indent)
{
    struct buf broken = {0};
    terminal_put_line(&broken, buf_slice(line), cli->columns, indent);
    buf_put_byte(&broken, '\n');
    fwrite(broken.data, 1, broken.size, stdout);
    buf_free(&broken);
}

void output_lines(const struct cli *cli, struct buf *lines, const char *indent)
{
    struct buf line = {0};
    output_make_printable(lines);
    for (size_t at = 0; at < lines->size; at += line.size + 1) {
        const char *end = memchr(lines->data + at, '\n', lines->size - at);
        size_t stop = end ? (size_t)(end - lines->data) : lines->size;
        buf_clear(&line);
        buf_put(&line, lines->data + at, stop - at);
        output_line(cli, &line, indent);
    }
    buf_free(&line);
}

void output_dim_line(const struct cli *cli, const struct buf *line,
                     const char *indent)
{
    struct buf dim = {0};
    if (!cli->color) {
        output_line(cli, line, indent);
        return;
    }
    buf_put_text(&dim, "\033[2m");
    buf_put_slice(&dim, buf_slice(line));
    buf_put_text(&dim, "\033[0m");
    output_line(cli, &dim, indent);
    buf_free(&dim);
}

/* JSON escapes the other control characters itself. */
void output_json(struct slice value)
{
    size_t from = 0;
    for (size_t at = 0, step; at < value.size; at += step) {
        uint32_t c = text_decode(value.data, value.size, at, &step);
        if (!is_control(c) || c < 0x20)
            continue;
        fwrite(value.data + from, 1, at - from, stdout);
        printf("\\u%04x", (unsigned)c);
        from = at + step;
    }
    fwrite(value.data + from, 1, value.size - from, stdout);
    putchar('\n');
}

__attribute__((format(printf, 1, 0))) static void complain(const char *format,
                                                           va_list args)
{
    char message[1024];
    struct buf text = {0};
    vsnprintf(message, sizeof message, format, args);
    buf_printf(&text, "lectern: %s", message);
    output_make_label(&text);
    buf_put_byte(&text, '\n');
    fwrite(text.data, 1, text.size, stderr);
    buf_free(&text);
}

void output_complaint(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    complain(format, args);
    va_end(args);
}

void output_remark(const struct cli *cli, const char *format, ...)
{
    va_list args;
    if (cli->options.quiet)
        return;
    va_start(args, format);
    complain(format, args);
    va_end(args);
}

void output_put_device(struct buf *out, const cJSON *model)
{
    const cJSON *device = cJSON_GetObjectItemCaseSensitive(model, "device");
    const char *used = json_get_text(device, "used", "");
    const char *reason = json_get_text(device, "reason", "");
    const char *lacks = json_get_text(device, "lacks", "");
    if (!strcmp(used, "cuda") && json_get_bool(device, "failed", false)) {
        buf_put_text(out, "the GPU, which has failed: the CPU takes over as "
                          "soon as nothing waits for it");
    } else if (!strcmp(used, "cuda")) {
        buf_printf(out, "%s (compute capability %s), ",
                   json_get_text(device, "name", "a GPU"),
                   json_get_text(device, "capability", "unknown"));
        output_put_bytes(out, json_get_double(device, "free", 0));
        buf_put_text(out, " of ");
        output_put_bytes(out, json_get_double(device, "memory", 0));
        buf_put_text(out, " free");
        if (lacks[0])
            buf_printf(out, "; %s", lacks);
    } else if (used[0]) {
        buf_printf(out, "the CPU%s%s", reason[0] ? ": " : "", reason);
    } else {
        buf_printf(out, "%s, nothing runs on it yet",
                   json_get_text(device, "choice", "cpu"));
    }
}

void output_put_title_path(struct buf *out, const cJSON *path)
{
    const cJSON *title;
    const char *above = NULL;
    cJSON_ArrayForEach (title, path) {
        if (!cJSON_IsString(title) ||
            (above && !strcmp(title->valuestring, above)))
            continue;
        if (above)
            buf_put_text(out, " › ");
        above = title->valuestring;
        buf_put_text(out, above);
    }
    buf_put(out, "", 0);
}

void output_put_place(struct buf *out, const cJSON *object)
{
    const char *anchor = json_get_text(object, "anchor", "");
    buf_put_text(out, json_get_text(object, "file", ""));
    if (anchor[0])
        buf_printf(out, "#%s", anchor);
}

void output_put_count(struct buf *out, int64_t count)
{
    char digits[32];
    int size = snprintf(digits, sizeof digits, "%lld", (long long)count);
    for (int i = 0; i < size; i++) {
        if (count >= 10000 && i > 0 && (size - i) % 3 == 0)
            buf_put_byte(out, ',');
        buf_put_byte(out, digits[i]);
    }
}

void output_put_counted(struct buf *out, int64_t count, const char *one,
                        const char *many)
{
    output_put_count(out, count);
    buf_printf(out, " %s", count == 1 ? one : many);
}

void output_put_bytes(struct buf *out, double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1000;
        unit++;
    }
    buf_printf(out, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void output_put_start_of_text(struct buf *out, const char *text, int lines,
                              int columns, const char *indent)
{
    struct buf folded = {0}, broken = {0};
    buf_put_text(&folded, indent);
    text_fold_space(&folded, slice_of(text));
    bool any = folded.size > strlen(indent);
    terminal_put_line(&broken, buf_slice(&folded), columns - 2, indent);
    const char *end = broken.data;
    for (int line = 0; any && line < lines && end; line++)
        end = strchr(line ? end + 1 : end, '\n');
    if (any) {
        size_t start = out->size;
        buf_put(out, broken.data,
                end ? (size_t)(end - broken.data) : broken.size);
        emphasis_end(out, start);
        buf_put_text(out, end ? " …\n" : "\n");
    }
    buf_free(&broken);
    buf_free(&folded);
}

bool output_put_index_summary(struct buf *out, const cJSON *result)
{
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(result, "files");
    const char *name = json_get_text(result, "name", "index");
    int64_t seen = json_get_int(result, "files", -1);
    int64_t failed = json_get_int(result, "failed", 0);
    int64_t nodes = json_get_int(result, "nodes", -1);
    int64_t segments = json_get_int(result, "segments", 0);
    double seconds = json_get_double(result, "seconds", -1);
    const cJSON *memories =
        cJSON_GetObjectItemCaseSensitive(result, "memories");
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(memories, "error");
    if (cJSON_IsObject(files)) {
        seen = json_get_int(files, "seen", -1);
        failed = json_get_int(files, "failed", 0);
    }
    /* Those of titles alone are cut, too, and not what is searched. */
    bool added = cJSON_IsObject(files);
    if (seen < 0)
        return false;
    buf_printf(out, "%s: ", json_get_text(result, "manual", name));
    output_put_counted(out, seen, "file", "files");
    if (nodes >= 0) {
        buf_put_text(out, ", ");
        output_put_counted(out, nodes, "node", "nodes");
    }
    if (segments > 0) {
        buf_put_text(out, ", ");
        output_put_counted(out, segments, "segment", "segments");
        if (!added)
            buf_put_text(out, " with text");
    }
    if (seconds >= 0)
        buf_printf(out, ", %.1f s", seconds);
    buf_put_text(out, " (");
    output_put_count(out, failed);
    buf_put_text(out, " failed)\n");
    if (error)
        buf_printf(out, "    no new memories: %s\n",
                   json_get_text(error, "message", ""));
    return true;
}
