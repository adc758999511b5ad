/* The list of what is cited: the .bbl file that BibTeX made is read as it is;
 * of biblatex's, and of a .bib file where there is no .bbl, each entry that is
 * cited becomes an item: who, what, where, when.  What an entry says is read
 * where it stands in its file. */
#include <ctype.h>
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"

enum {
    MAX_WORKS = 20000, /* of all files; the rest is left out */
    MAX_PARTS = 24     /* of an entry */
};

/* A piece of the file's text, and what is set before it. */
struct part {
    const char *before;
    size_t from, to;
};

struct work {
    struct slice key;
    uint16_t file;
    uint8_t count;
    struct part *parts; /* [count], in the document's memory */
};

/* ---- Text ---- */

static bool skip(struct slice text, size_t *at, const char *what)
{
    size_t size = strlen(what);
    if (*at > text.size || text.size - *at < size ||
        strncasecmp(text.data + *at, what, size) != 0)
        return false;
    *at += size;
    return true;
}

static void skip_spaces(struct slice text, size_t *at)
{
    while (*at < text.size && isspace((unsigned char)text.data[*at]))
        ++*at;
}

/* From a brace to behind the one that closes it. */
static size_t behind_group(struct slice text, size_t at)
{
    size_t depth = 0;
    for (; at < text.size; at++) {
        if (text.data[at] == '\\')
            at++;
        else if (text.data[at] == '{')
            depth++;
        else if (text.data[at] == '}' && !--depth)
            return at + 1;
    }
    return text.size;
}

/* The end of what is in it; one that nothing closes goes to the text's end. */
static size_t end_of_group(struct slice text, size_t behind)
{
    return behind && text.data[behind - 1] == '}' ? behind - 1 : behind;
}

static struct slice name_at(struct slice text, size_t *at)
{
    size_t from = *at;
    while (*at < text.size && text.data[*at] > ' ' &&
           !strchr("{}(),=\"#%", text.data[*at]))
        ++*at;
    return (struct slice){text.data + from, *at - from};
}

static void add_part(struct work *work, struct part *parts, const char *before,
                     size_t from, size_t to)
{
    if (to <= from || work->count == MAX_PARTS)
        return;
    parts[work->count] = (struct part){work->count ? before : "", from, to};
    work->count++;
}

static void add_work(struct document *d, struct work work,
                     const struct part *parts)
{
    size_t size = work.count * sizeof *parts;
    if (!work.key.size || !work.count || d->bibliography.count >= MAX_WORKS)
        return;
    work.parts = arena_alloc(&d->outline.arena, size);
    memcpy(work.parts, parts, size);
    MEM_RESERVE(d->bibliography.works, &d->bibliography.capacity,
                d->bibliography.count + 1);
    d->bibliography.works[d->bibliography.count++] = work;
}

/* ---- .bib (Oren Patashnik, BibTeXing, 1988) ---- */

static const struct {
    const char *name, *before;
    int slot; /* fields of one slot are used for each other */
} fields[] = {{"author", "", 0},         {"editor", "", 0},
              {"title", ". ", 1},        {"journal", ". ", 2},
              {"journaltitle", ". ", 2}, {"booktitle", ". ", 2},
              {"howpublished", ". ", 3}, {"publisher", ". ", 3},
              {"institution", ". ", 3},  {"organization", ". ", 3},
              {"school", ". ", 3},       {"year", ", ", 4},
              {"date", ", ", 4}};

enum { SLOTS = 5 };

/* The value at `at`, without what delimits it; what else is joined to it with #
 * is passed over. */
static struct part read_value(struct slice text, size_t *at)
{
    struct part part = {"", 0, 0};
    do {
        size_t from, to;
        skip_spaces(text, at);
        if (*at < text.size && text.data[*at] == '{') {
            from = *at + 1;
            *at = behind_group(text, *at);
            to = end_of_group(text, *at);
        } else if (skip(text, at, "\"")) {
            from = *at;
            while (*at < text.size && text.data[*at] != '"')
                *at = text.data[*at] == '{' ? behind_group(text, *at) : *at + 1;
            to = *at;
            *at += *at < text.size;
        } else {
            from = *at;
            name_at(text, at);
            to = *at;
        }
        if (!part.to)
            part = (struct part){"", from, to};
        skip_spaces(text, at);
    } while (skip(text, at, "#"));
    return part;
}

static void read_entry(struct document *d, uint16_t file, struct slice text,
                       size_t *at)
{
    struct part slots[SLOTS] = {{0}}, parts[MAX_PARTS];
    struct work work = {.file = file};
    skip_spaces(text, at);
    work.key = name_at(text, at);
    for (;;) {
        skip_spaces(text, at);
        if (!skip(text, at, ","))
            break;
        skip_spaces(text, at);
        struct slice name = name_at(text, at);
        skip_spaces(text, at);
        if (!name.size || !skip(text, at, "="))
            break;
        struct part value = read_value(text, at);
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
            struct part *slot = &slots[fields[i].slot];
            if (!slot->to && name.size == strlen(fields[i].name) &&
                !strncasecmp(name.data, fields[i].name, name.size))
                *slot = (struct part){fields[i].before, value.from, value.to};
        }
    }
    for (int i = 0; i < SLOTS; i++)
        add_part(&work, parts, slots[i].before, slots[i].from, slots[i].to);
    add_work(d, work, parts);
}

static void read_bib(struct document *d, uint16_t file, struct slice text)
{
    static const char *const none[] = {"comment", "preamble", "string"};
    for (size_t at = 0; at < text.size;) {
        const char *sign = memchr(text.data + at, '@', text.size - at);
        if (!sign)
            return;
        at = (size_t)(sign - text.data) + 1;
        struct slice kind = name_at(text, &at);
        bool entry = kind.size > 0;
        for (int i = 0; i < 3; i++)
            entry &= kind.size != strlen(none[i]) ||
                     strncasecmp(kind.data, none[i], kind.size) != 0;
        skip_spaces(text, &at);
        if (at >= text.size || !strchr("{(", text.data[at]) || !text.data[at])
            continue;
        if (!entry) {
            at = text.data[at] == '{' ? behind_group(text, at) : at + 1;
            continue;
        }
        at++;
        read_entry(d, file, text, &at);
    }
}

/* ---- biblatex's .bbl ---- */

/* The group that begins at `at`, after spaces; false: there is none. */
static bool group_at(struct slice text, size_t *at, struct part *ret)
{
    while (*at < text.size && strchr(" \n\t\r%", text.data[*at]) &&
           text.data[*at])
        ++*at;
    if (*at >= text.size || text.data[*at] != '{')
        return false;
    ret->from = *at + 1;
    *at = behind_group(text, *at);
    ret->to = end_of_group(text, *at);
    return true;
}

/* \name{author}{2}{..}{{{..}{family={Knuth}, given={Donald}, ..}}..} */
static void read_names(struct slice text, struct part group, struct work *work,
                       struct part *parts)
{
    static const char *const halves[] = {"given={", "family={"};
    struct slice within = {text.data, group.to};
    for (size_t at = group.from; at < group.to;) {
        struct part name;
        if (!group_at(within, &at, &name))
            return;
        const char *before = ", ";
        for (int i = 0; i < 2; i++) {
            struct slice one = {text.data + name.from, name.to - name.from};
            const char *found =
                memmem(one.data, one.size, halves[i], strlen(halves[i]));
            if (!found)
                continue;
            size_t from = (size_t)(found - text.data) + strlen(halves[i]);
            add_part(work, parts, before, from,
                     end_of_group(within, behind_group(within, from - 1)));
            before = " ";
        }
    }
}

static void read_biblatex_entry(struct document *d, uint16_t file,
                                struct slice text, size_t from, size_t to)
{
    static const struct {
        const char *name, *before;
    } wanted[] = {{"title", ". "},
                  {"journaltitle", ". "},
                  {"booktitle", ". "},
                  {"year", ", "}};
    struct part key, group, parts[MAX_PARTS];
    struct work work = {.file = file};
    struct slice entry = {text.data, to};
    if (!group_at(entry, &from, &key))
        return;
    work.key = (struct slice){text.data + key.from, key.to - key.from};
    for (int i = -1; i < (int)(sizeof wanted / sizeof *wanted); i++) {
        char mark[40];
        snprintf(mark, sizeof mark, "\\%s{%s}", i < 0 ? "name" : "field",
                 i < 0 ? "author" : wanted[i].name);
        const char *found =
            memmem(text.data + from, to - from, mark, strlen(mark));
        size_t at = found ? (size_t)(found - text.data) + strlen(mark) : to;
        for (int k = i < 0 ? 2 : 0; k > 0; k--)
            group_at(entry, &at, &group); /* how many; options */
        if (!group_at(entry, &at, &group))
            continue;
        if (i < 0)
            read_names(text, group, &work, parts);
        else
            add_part(&work, parts, wanted[i].before, group.from, group.to);
    }
    add_work(d, work, parts);
}

/* False: it is BibTeX's. */
static bool read_biblatex(struct document *d, uint16_t file, struct slice text)
{
    static const char begin[] = "\\entry{", end[] = "\\endentry";
    size_t at = 0;
    const char *found;
    while (at < text.size && (found = memmem(text.data + at, text.size - at,
                                             begin, sizeof begin - 1))) {
        size_t from = (size_t)(found - text.data) + sizeof begin - 2;
        const char *last =
            memmem(text.data + from, text.size - from, end, sizeof end - 1);
        at = last ? (size_t)(last - text.data) : text.size;
        read_biblatex_entry(d, file, text, from, at);
    }
    return at > 0;
}

/* ---- As a section ---- */

static bool is_cited(const struct document *d, struct slice key)
{
    struct buf name = {0};
    buf_printf(&name,
               "\xff"
               "cite.%.*s",
               (int)key.size, key.data);
    bool cited = tex_find_symbol(&d->tex, buf_slice(&name)) != UINT32_MAX;
    buf_free(&name);
    return cited || d->bibliography.cites_all;
}

/* \name{argument} */
static void push_call(struct tex *tex, const char *name, struct slice argument,
                      struct token call)
{
    struct tokens list = {0};
    call.flags |= TOKEN_MADE;
    call.cat = CAT_NAME;
    call.value = tex_symbol_of(tex, name);
    tokens_add(&list, call);
    call.cat = CAT_BEGIN;
    call.value = '{';
    tokens_add(&list, call);
    for (size_t at = 0, step; at < argument.size; at += step) {
        call.cat = CAT_OTHER;
        call.value = text_decode(argument.data, argument.size, at, &step);
        tokens_add(&list, call);
    }
    call.cat = CAT_END;
    call.value = '}';
    tokens_add(&list, call);
    tex_push(tex, list);
}

/* Pushes the next work that is cited, and itself after it. */
static void run_next(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct document *d = document_of(tex);
    (void)command;
    while (d->bibliography.at < d->bibliography.count &&
           !is_cited(d, d->bibliography.works[d->bibliography.at].key))
        d->bibliography.at++;
    if (d->bibliography.at == d->bibliography.count)
        return;
    const struct work *work = &d->bibliography.works[d->bibliography.at++];
    tex_unread(tex, call);
    /* What is set around them stands where they do. */
    call.file = work->file;
    call.from = call.to = (uint32_t)work->parts[work->count - 1].to;
    tex_push_text(tex, slice_of("."), call);
    for (size_t i = work->count; i-- > 0;) {
        const struct part *part = &work->parts[i];
        tex_push_file(tex, work->file);
        struct input *input = &tex->inputs[tex->input_count - 1];
        input->at = part->from;
        input->end = part->to;
        input->state = MOUTH_MIDDLE;
        call.from = call.to = (uint32_t)part->from;
        tex_push_text(tex, slice_of(part->before), call);
    }
    push_call(tex, "bibitem", work->key, call);
}

static void put_works(struct document *d, struct token call)
{
    struct tex *tex = &d->tex;
    struct token next = call;
    bool any = false;
    for (size_t i = 0; i < d->bibliography.count && !any; i++)
        any = is_cited(d, d->bibliography.works[i].key);
    if (!any)
        return;
    d->bibliography.at = 0;
    push_call(tex, "end", slice_of("thebibliography"), call);
    next.cat = CAT_NAME;
    next.flags |= TOKEN_MADE;
    next.value = tex_symbol_of(tex, "-next work-");
    tex_unread(tex, next);
    struct tokens widest = {0};
    call.cat = CAT_OTHER;
    call.value = '9';
    tokens_add(&widest, call);
    tex_push(tex, widest);
    push_call(tex, "begin", slice_of("thebibliography"), call);
}

static struct slice text_of(const struct document *d, uint16_t file)
{
    return d->tex.files[file].transcoded.text;
}

/* Each of the names, as \bibliography and \addbibresource give them. */
static void read_bibs(struct document *d, struct slice names, struct token call)
{
    while (names.size) {
        size_t size = 0;
        while (size < names.size && !strchr(",\n", names.data[size]))
            size++;
        struct slice name = {names.data, size};
        struct buf file = {0};
        uint16_t found;
        while (name.size && name.data[0] == ' ')
            name = (struct slice){name.data + 1, name.size - 1};
        buf_printf(&file, "%.*s\n%.*s.bib\n", (int)name.size, name.data,
                   (int)name.size, name.data);
        if (name.size && inputs_fetch(d, buf_slice(&file), call, &found))
            read_bib(d, found, text_of(d, found));
        buf_free(&file);
        size += size < names.size;
        names = (struct slice){names.data + size, names.size - size};
    }
}

static void run_bibliography(struct tex *tex, const struct command *command,
                             struct token call)
{
    struct document *d = document_of(tex);
    struct buf names = {0};
    uint16_t made;
    if (command->value)
        tex_read_text(tex, &names);
    else
        tex_skip_before(tex, "o");
    buf_put_byte(&names, '\n');
    buf_put_slice(&names, d->bibliography.files);
    d->bibliography.count = d->bibliography.at =
        0; /* a work may ask for another list */
    if (!inputs_fetch(d, slice_of("\\jobname.bbl\n"), call, &made)) {
        read_bibs(d, buf_slice(&names), call);
        put_works(d, call);
    } else if (read_biblatex(d, made, text_of(d, made))) {
        put_works(d, call);
    } else {
        tex_push_file(tex, made);
    }
    buf_free(&names);
}

static void run_resource(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct buf names = {0};
    (void)command;
    (void)call;
    tex_skip_before(tex, "o");
    buf_put_slice(&names, d->bibliography.files);
    tex_read_text(tex, &names);
    buf_put_byte(&names, '\n');
    d->bibliography.files = document_keep(d, buf_slice(&names));
    buf_free(&names);
}

static const struct command commands[] = {
    {"bibliography", run_bibliography, NULL, 1, NULL},
    {"printbibliography", run_bibliography, NULL, 0, NULL},
    {"addbibresource", run_resource, NULL, 0, NULL},
    {"-next work-", run_next, NULL, 0, NULL},
};

void bibliography_add(struct document *d)
{
    d->bibliography.files = (struct slice){"", 0};
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
