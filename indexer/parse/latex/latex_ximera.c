/* Ximera (the classes ximera and xourse): a course is a list of activities, which are
 * documents of their own with titles that the course makes chapters or sections. */
#include "indexer/parse/latex/latex_internal.h"

/* Up to the brace that closes the first group from `at` on; 0: there is none. */
static size_t end_of_group(struct slice text, size_t at)
{
    size_t depth = 0;
    for (; at < text.size; at++) {
        depth += text.data[at] == '{';
        if (text.data[at] == '}' && (!depth || !--depth))
            return depth ? 0 : at + 1;
    }
    return 0;
}

/* What stands behind \title in a line, before a comment; NULL: there is none. */
static const char *behind_title(const char *line, const char *end)
{
    static const char title[] = "\\title";
    const char *note = memchr(line, '%', (size_t)(end - line));
    end = note ? note : end;
    while (
        (line = memmem(line, (size_t)(end - line), title, sizeof title - 1))) {
        line += sizeof title - 1;
        if (line < end && (*line == '{' || *line == '['))
            return line;
    }
    return NULL;
}

/* Where the argument of \title stands before `end`, the document's body. */
static bool find_title(struct slice text, size_t end, size_t *ret_from,
                       size_t *ret_to)
{
    const char *at = text.data, *stop = text.data + end, *found = NULL;
    while (at < stop && !found) {
        const char *next = memchr(at, '\n', (size_t)(stop - at));
        next = next ? next : stop;
        found = behind_title(at, next);
        at = next + (next < stop);
    }
    if (!found)
        return false;
    *ret_from = (size_t)(found - text.data);
    *ret_to = end_of_group((struct slice){text.data, end}, *ret_from);
    return *ret_to != 0;
}

/* \activity[options]{file}, whose title stands before its body. */
static void run_activity(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct buf name = {0};
    size_t from, to;
    tex_skip_before(tex, command->before);
    tex_read_text(tex, &name);
    if (inputs_open_subfile(d, buf_slice(&name), call)) {
        struct input body = tex->inputs[tex->input_count - 1];
        struct slice text = tex->files[body.file].transcoded.text;
        if (find_title(text, body.at, &from, &to)) {
            tex_push_file(tex, body.file);
            tex->inputs[tex->input_count - 1].at = from;
            tex->inputs[tex->input_count - 1].end = to;
            call.value =
                tex_symbol_of(tex, d->chapters_follow ? "chapter" : "section");
            tex_unread(tex, call);
        }
    }
    buf_free(&name);
}

static void run_style(struct tex *tex, const struct command *command,
                      struct token call)
{
    (void)call;
    document_of(tex)->chapters_follow = command->value != 0;
}

static const struct command commands[] = {
    {"activity", run_activity, "o", 0, NULL},
    {"practice", run_activity, "o", 0, NULL},
    {"chapterstyle", run_style, NULL, 1, NULL},
    {"sectionstyle", run_style, NULL, 0, NULL},
};

void ximera_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
