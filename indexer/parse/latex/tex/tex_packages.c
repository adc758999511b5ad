/* Which packages and classes a document has asked for, with which options, and
 * the tests of that (LaTeX2e, ltclass.dtx): \ver@FILE and \opt@FILE, as LaTeX
 * names them, are there from the moment on at which FILE is asked for, whether
 * it lies beside the document or not. */
#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

static struct buf name_of(const char *what, struct slice file)
{
    struct buf name = {0};
    buf_printf(&name, "%s@%.*s", what, (int)file.size, file.data);
    return name;
}

void packages_asked(struct tex *tex, struct slice file,
                    const struct tokens *options)
{
    bool global = tex->global;
    struct buf version = name_of("ver", file), given = name_of("opt", file);
    struct macro macro = {0};
    buf_put_byte(&version, '\0');
    tex->global = true;
    /* What it would say of itself is not known; that it is of today. */
    tex_define_text(tex, version.data, "2024/01/01 v2.0 of today");
    tokens_add_all(&macro.body, options->items, options->count);
    tex->global = true;
    define_macro(tex, tex_symbol(tex, buf_slice(&given)), macro);
    tokens_free(&macro.body);
    tex->global = global;
    buf_free(&version);
    buf_free(&given);
}

static struct meaning meaning_of(const struct tex *tex, const char *what,
                                 struct slice file)
{
    struct buf name = name_of(what, file);
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol == UINT32_MAX ? (struct meaning){.kind = MEANING_NONE}
                                : tex->symbols[symbol].meaning;
}

bool packages_is_asked(const struct tex *tex, struct slice file)
{
    return meaning_of(tex, "ver", file).kind != MEANING_NONE;
}

/* NAME, with the ending of its file. */
static struct buf read_file(struct tex *tex, const char *ending)
{
    struct buf file = {0};
    tex_read_text(tex, &file);
    buf_put_text(&file, ending);
    return file;
}

/* \@ifpackageloaded{NAME}{..}{..}; `text`: the ending of its file. */
static void run_if_loaded(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct buf file = read_file(tex, command->text);
    (void)call;
    expand_choose(tex, packages_is_asked(tex, buf_slice(&file)));
    buf_free(&file);
}

static struct slice trimmed(struct slice text)
{
    while (text.size && text.data[0] == ' ') {
        text.data++;
        text.size--;
    }
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    return text;
}

/* The first of a list with commas between, which is cut off it. */
static struct slice take_option(struct slice *list)
{
    const char *comma = memchr(list->data, ',', list->size);
    size_t size = comma ? (size_t)(comma - list->data) : list->size;
    struct slice one = {list->data, size};
    size += comma != NULL;
    list->data += size;
    list->size -= size;
    return trimmed(one);
}

static bool has_option(struct slice list, struct slice option)
{
    while (list.size)
        if (slice_equal(take_option(&list), option))
            return true;
    return false;
}

/* \@ifpackagewith{NAME}{OPTIONS}{..}{..}: was it asked for with all of them? */
static void run_if_with(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf file = read_file(tex, command->text);
    struct meaning meaning = meaning_of(tex, "opt", buf_slice(&file));
    struct buf given = {0}, wanted = {0};
    (void)call;
    bool all = meaning.kind == MEANING_MACRO;
    if (all)
        tex_write_tokens(tex, &meaning.macro->body, &given);
    tex_read_text(tex, &wanted);
    for (struct slice left = buf_slice(&wanted); left.size && all;) {
        struct slice option = take_option(&left);
        all = !option.size || has_option(buf_slice(&given), option);
    }
    buf_free(&given);
    buf_free(&wanted);
    buf_free(&file);
    expand_choose(tex, all);
}

/* Packages are of today: later than any date. */
static void run_if_later(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)call;
    tex_skip_before(tex, command->before);
    expand_choose(tex, true);
}

static const struct command expanding[] = {
    {"@ifpackageloaded", run_if_loaded, NULL, 0, ".sty"},
    {"@ifclassloaded", run_if_loaded, NULL, 0, ".cls"},
    {"IfPackageLoadedTF", run_if_loaded, NULL, 0, ".sty"},
    {"IfClassLoadedTF", run_if_loaded, NULL, 0, ".cls"},
    {"@ifpackagewith", run_if_with, NULL, 0, ".sty"},
    {"@ifclasswith", run_if_with, NULL, 0, ".cls"},
    {"IfPackageLoadedWithOptionsTF", run_if_with, NULL, 0, ".sty"},
    {"IfClassLoadedWithOptionsTF", run_if_with, NULL, 0, ".cls"},
    {"@ifpackagelater", run_if_later, "mm", 0, NULL},
    {"@ifclasslater", run_if_later, "mm", 0, NULL},
    {"@ifl@t@r", run_if_later, "mm", 0, NULL},
    {"IfPackageAtLeastTF", run_if_later, "mm", 0, NULL},
    {"IfClassAtLeastTF", run_if_later, "mm", 0, NULL},
};

void packages_add(struct tex *tex)
{
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, false);
}
