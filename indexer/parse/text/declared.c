#include "indexer/parse/text/declared.h"

#include <stdlib.h>

#include "indexer/parse/text/lexer.h"

enum {
    MAX_TEXT = 16 << 10, /* bytes that one reads */
    MAX_ALL = 256 << 10, /* and all together */
    MAX_DEPTH = 32,      /* entities in values of entities */
    MAX_PARAMETERS = 4,  /* declarations in values of parameters */
    MAX_ENTITIES = 4096
};

enum { UNRESOLVED, RESOLVING, RESOLVED, REFUSED };

/* ---- Reading the subset ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_name_byte(char c)
{
    unsigned char byte = (unsigned char)c;
    return byte >= 0x80 || c == '-' || c == '_' || c == '.' || c == ':' ||
           (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static struct slice rest_of(struct slice text, size_t at)
{
    return at < text.size ? (struct slice){text.data + at, text.size - at}
                          : (struct slice){"", 0};
}

static bool starts(struct slice text, size_t at, const char *with)
{
    return slice_starts(rest_of(text, at), slice_of(with));
}

static size_t skip_space(struct slice text, size_t at)
{
    while (at < text.size && is_space(text.data[at]))
        at++;
    return at;
}

static struct slice take_name(struct slice text, size_t *at)
{
    size_t from = *at = skip_space(text, *at);
    while (*at < text.size && is_name_byte(text.data[*at]))
        ++*at;
    return (struct slice){text.data + from, *at - from};
}

static bool take_quoted(struct slice text, size_t *at, struct slice *ret)
{
    size_t from = skip_space(text, *at);
    if (from >= text.size ||
        (text.data[from] != '"' && text.data[from] != '\''))
        return false;
    const char *begin = text.data + from + 1;
    const char *end = memchr(begin, text.data[from], text.size - from - 1);
    if (!end)
        return false;
    *ret = (struct slice){begin, (size_t)(end - begin)};
    *at = (size_t)(end - text.data) + 1;
    return true;
}

static int compare(const struct declared_entity *entity, bool parameter,
                   struct slice name)
{
    if (entity->parameter != parameter)
        return entity->parameter ? 1 : -1;
    return slice_compare(entity->name, name);
}

/* Where an entity stands, or is to stand. */
static size_t place_of(const struct declared *d, bool parameter,
                       struct slice name, bool *ret_found)
{
    size_t low = 0, high = d->count;
    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(&d->entities[middle], parameter, name);
        *ret_found |= !order;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct declared_entity *find(const struct declared *d, bool parameter,
                                    struct slice name)
{
    bool found;
    size_t place = place_of(d, parameter, name, &found);
    return found ? &d->entities[place] : NULL;
}

static bool is_built_in(struct slice name)
{
    return slice_is(name, "amp") || slice_is(name, "lt") ||
           slice_is(name, "gt") || slice_is(name, "quot") ||
           slice_is(name, "apos");
}

/* The first declaration counts. */
static void add(struct declared *d, struct declared_entity entity)
{
    bool found;
    size_t place = place_of(d, entity.parameter, entity.name, &found);
    if (found || d->count == MAX_ENTITIES || !entity.name.size ||
        (!entity.parameter && is_built_in(entity.name)))
        return;
    MEM_RESERVE(d->entities, &d->capacity, d->count + 1);
    memmove(d->entities + place + 1, d->entities + place,
            (d->count - place) * sizeof *d->entities);
    d->entities[place] = entity;
    d->count++;
}

/* From behind "<!ENTITY" on. */
static void read_entity(struct declared *d, struct slice text, size_t at)
{
    struct declared_entity entity = {.text = {"", 0}};
    struct slice public;
    at = skip_space(text, at);
    if (starts(text, at, "%")) {
        entity.parameter = true;
        at++;
    }
    entity.name = take_name(text, &at);
    at = skip_space(text, at);
    if (!take_quoted(text, &at, &entity.value)) {
        struct slice kind = take_name(text, &at);
        entity.external = true;
        if ((slice_is(kind, "PUBLIC") && !take_quoted(text, &at, &public)) ||
            !take_quoted(text, &at, &entity.value))
            return;
    }
    add(d, entity);
}

/* Where the declaration at `at` ends. */
static size_t declaration_end(struct slice text, size_t at)
{
    struct slice quoted;
    while (at < text.size && text.data[at] != '>')
        if (!take_quoted(text, &at, &quoted) || at >= text.size)
            at++;
    return at < text.size ? at + 1 : text.size;
}

static size_t after(struct slice text, size_t at, const char *end)
{
    struct slice rest = rest_of(text, at);
    const char *found =
        rest.size ? memmem(rest.data, rest.size, end, strlen(end)) : NULL;
    return found ? (size_t)(found - text.data) + strlen(end) : text.size;
}

static bool is_url(struct slice name)
{
    return name.size && memmem(name.data, name.size, "://", 3);
}

static void read_subset(struct declared *d, struct slice text, int depth);

/* Declarations that stand in the value of another, "%more;". */
static void read_parameter(struct declared *d, struct slice name, int depth)
{
    struct declared_entity *entity = find(d, true, name);
    if (!entity)
        return;
    bool first = !entity->used;
    struct slice value = entity->value; /* what it declares may move it */
    entity->used = true;
    if (!entity->external && depth < MAX_PARAMETERS &&
        d->size + value.size <= MAX_ALL) {
        d->size += value.size;
        read_subset(d, value, depth + 1);
    } else if (first && entity->external && !is_url(value))
        buf_printf(&d->reports,
                   "the declarations in %.*s, which %%%.*s; names, are not "
                   "read\n",
                   (int)value.size, value.data, (int)name.size, name.data);
}

static void read_subset(struct declared *d, struct slice text, int depth)
{
    for (size_t at = 0; at < text.size && text.data[at] != ']';) {
        if (starts(text, at, "<!--")) {
            at = after(text, at + 4, "-->");
        } else if (starts(text, at, "<?")) {
            at = after(text, at, "?>");
        } else if (starts(text, at, "<!")) {
            if (starts(text, at, "<!ENTITY"))
                read_entity(d, text, at + 8);
            at = declaration_end(text, at);
        } else if (text.data[at] == '%' && d->count < MAX_ENTITIES) {
            at++;
            read_parameter(d, take_name(text, &at), depth);
        } else {
            at++;
        }
    }
}

/* What stands in the brackets of <!DOCTYPE x [ ]>, and what follows. */
static struct slice subset_of(const struct source *source)
{
    struct markup markup;
    for (size_t at = 0; at < source->size;) {
        const char *next = memchr(source->data + at, '<', source->size - at);
        if (!next ||
            !lexer_markup(source, (size_t)(next - source->data), source->size,
                          &markup) ||
            markup.kind != MARKUP_OTHER)
            break;
        struct slice text = {next, markup.to - markup.from};
        at = markup.to;
        if (!slice_starts(text, slice_of("<!DOCTYPE")))
            continue;
        for (size_t i = 9; i < text.size; i++) {
            struct slice quoted;
            if (text.data[i] == '[')
                return rest_of(text, i + 1);
            if ((text.data[i] == '"' || text.data[i] == '\'') &&
                take_quoted(text, &i, &quoted))
                i--;
        }
        break;
    }
    return (struct slice){"", 0};
}

/* ---- What they read ---- */

static void resolve(struct declared *d, struct declared_entity *entity,
                    int depth);

/* The reference at `at`; returns where it ends, 0: it cannot be read. */
static size_t put_reference(struct declared *d, const struct source *source,
                            size_t at, int depth, struct buf *out)
{
    struct slice text = {source->data, source->size};
    size_t end = at + 1;
    struct slice name = take_name(text, &end);
    struct declared_entity *inner =
        end < text.size && text.data[end] == ';' ? find(d, false, name) : NULL;
    if (inner) {
        resolve(d, inner, depth + 1);
        buf_put_slice(out, inner->text);
        return inner->state == RESOLVED ? end + 1 : 0;
    }
    struct character character;
    lexer_character(source, at, source->size, TEXT_MARKUP, &character);
    buf_put(out, character.bytes, character.size);
    return character.to;
}

static bool put_value(struct declared *d, const struct source *source,
                      int depth, struct buf *out)
{
    for (size_t at = 0; at < source->size && out->size <= MAX_TEXT;) {
        struct markup markup;
        struct character character;
        struct slice raw;
        if (lexer_markup(source, at, source->size, &markup)) {
            at = markup.to;
            if (lexer_cdata(source, &markup, TEXT_MARKUP, &raw))
                lexer_raw(source, raw, out);
            else if (markup.kind == MARKUP_CLOSE &&
                     starts((struct slice){source->data, source->size}, at,
                            "<"))
                buf_put_byte(out, ' ');
        } else if (source->data[at] == '&') {
            at = put_reference(d, source, at, depth, out);
            if (!at)
                return false;
        } else {
            lexer_character(source, at, source->size, TEXT_MARKUP, &character);
            buf_put(out, character.bytes, character.size);
            at = character.to;
        }
    }
    return out->size <= MAX_TEXT && d->size + out->size <= MAX_ALL;
}

/* One that is being resolved refers to itself; it, and what holds it, are refused. */
static void resolve(struct declared *d, struct declared_entity *entity,
                    int depth)
{
    struct buf text = {0};
    struct source source = {
        .data = entity->value.data, .size = entity->value.size, .xml = true};
    if (entity->state == RESOLVING ||
        (entity->state == UNRESOLVED && depth > MAX_DEPTH))
        entity->state = REFUSED;
    if (entity->state != UNRESOLVED)
        return;
    entity->state = RESOLVING;
    bool fits = entity->external || put_value(d, &source, depth, &text);
    if (entity->state == RESOLVING && fits) {
        const char *bytes = text.size ? text.data : "";
        entity->text =
            (struct slice){arena_copy(&d->arena, bytes, text.size), text.size};
        d->size += text.size;
        entity->state = RESOLVED;
    } else {
        entity->state = REFUSED;
    }
    buf_free(&text);
}

void declared_read(struct declared *d, struct slice text)
{
    struct source source = {.data = text.data, .size = text.size, .xml = true};
    struct slice subset = subset_of(&source);
    if (!subset.size)
        return;
    const char *copy = arena_copy(&d->arena, subset.data, subset.size);
    read_subset(d, (struct slice){copy, subset.size}, 0);
    for (size_t i = 0; i < d->count; i++)
        if (!d->entities[i].parameter)
            resolve(d, &d->entities[i], 0);
}

void declared_free(struct declared *d)
{
    free(d->entities);
    arena_free(&d->arena);
    buf_free(&d->reports);
    *d = (struct declared){0};
}

static struct declared_entity *find_reference(const struct declared *d,
                                              struct slice text,
                                              size_t *ret_used)
{
    size_t end = 1;
    while (end < text.size && is_name_byte(text.data[end]))
        end++;
    if (!d->count || end >= text.size || text.data[end] != ';')
        return NULL;
    *ret_used = end + 1;
    return find(d, false, (struct slice){text.data + 1, end - 1});
}

bool declared_find(const struct declared *d, struct slice text,
                   struct slice *ret_text, size_t *ret_used)
{
    const struct declared_entity *entity = find_reference(d, text, ret_used);
    if (!entity || entity->state != RESOLVED)
        return false;
    *ret_text = entity->text;
    return true;
}

static void report(struct declared *d, const struct declared_entity *e)
{
    if (e->state == REFUSED)
        buf_printf(&d->reports, "&%.*s; refers to itself or is too long\n",
                   (int)e->name.size, e->name.data);
    else if (e->external)
        buf_printf(&d->reports, "%.*s, which &%.*s; names, is not %s\n",
                   (int)e->value.size, e->value.data, (int)e->name.size,
                   e->name.data,
                   is_url(e->value) ? "fetched" : "read in its place");
}

size_t declared_count(struct declared *d, struct slice text)
{
    size_t count = 0, used;
    for (size_t at = 0; at < text.size; at++) {
        const char *next = memchr(text.data + at, '&', text.size - at);
        if (!next)
            break;
        at = (size_t)(next - text.data);
        struct declared_entity *entity =
            find_reference(d, rest_of(text, at), &used);
        if (!entity)
            continue;
        count += entity->text.size;
        if (!entity->used)
            report(d, entity);
        entity->used = true;
    }
    return count;
}
