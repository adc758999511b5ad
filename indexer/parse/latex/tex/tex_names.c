#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

enum { SAVED_CATCODE = UINT32_MAX, SAVED_COUNT = UINT32_MAX - 1 };

/* ---- Lists ---- */

void tokens_add(struct tokens *tokens, struct token token)
{
    if (tokens->count == tokens->capacity)
        MEM_RESERVE(tokens->items, &tokens->capacity, tokens->count + 1);
    tokens->items[tokens->count++] = token;
}

void tokens_add_all(struct tokens *tokens, const struct token *items,
                    size_t count)
{
    if (!count)
        return;
    MEM_RESERVE(tokens->items, &tokens->capacity, tokens->count + count);
    memcpy(tokens->items + tokens->count, items, count * sizeof *items);
    tokens->count += count;
}

void tokens_add_group(struct tokens *tokens, const struct tokens *group,
                      struct token call)
{
    call.flags |= TOKEN_MADE;
    call.cat = CAT_BEGIN;
    call.value = '{';
    tokens_add(tokens, call);
    tokens_add_all(tokens, group->items, group->count);
    call.cat = CAT_END;
    call.value = '}';
    tokens_add(tokens, call);
}

void tokens_free(struct tokens *tokens)
{
    free(tokens->items);
    *tokens = (struct tokens){0};
}

/* ---- Names ---- */

static void place_symbol(struct tex *tex, uint32_t symbol)
{
    uint32_t at = (uint32_t)tex->symbols[symbol].hash & (tex->slot_count - 1);
    while (tex->slots[at])
        at = (at + 1) & (tex->slot_count - 1);
    tex->slots[at] = symbol + 1;
}

static void grow_slots(struct tex *tex)
{
    free(tex->slots);
    tex->slot_count = tex->slot_count ? 2 * tex->slot_count : 8192;
    tex->slots = mem_alloc(tex->slot_count * sizeof *tex->slots);
    for (uint32_t i = 0; i < tex->symbol_count; i++)
        place_symbol(tex, i);
}

static uint32_t look_up(const struct tex *tex, struct slice name, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (tex->slot_count - 1);
    for (; tex->slots[at]; at = (at + 1) & (tex->slot_count - 1)) {
        const struct symbol *symbol = &tex->symbols[tex->slots[at] - 1];
        if (symbol->hash == hash && slice_equal(symbol->name, name))
            return tex->slots[at] - 1;
    }
    return UINT32_MAX;
}

uint32_t tex_find_symbol(const struct tex *tex, struct slice name)
{
    return look_up(tex, name, hash_bytes64(name.data, name.size));
}

uint32_t tex_symbol(struct tex *tex, struct slice name)
{
    uint64_t hash = hash_bytes64(name.data, name.size);
    if (2 * tex->symbol_count >= tex->slot_count)
        grow_slots(tex);
    uint32_t found = look_up(tex, name, hash);
    if (found != UINT32_MAX)
        return found;
    MEM_RESERVE(tex->symbols, &tex->symbol_capacity,
                tex->symbol_count + (size_t)1);
    struct symbol *symbol = &tex->symbols[tex->symbol_count];
    *symbol = (struct symbol){
        .name = {arena_copy(&tex->arena, name.data, name.size), name.size},
        .hash = hash};
    place_symbol(tex, tex->symbol_count);
    return tex->symbol_count++;
}

uint32_t tex_active_symbol(struct tex *tex, uint32_t c)
{
    struct buf name = {0};
    buf_put_byte(&name, '\1');
    text_encode(&name, c);
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol;
}

uint32_t tex_symbol_of(struct tex *tex, const char *name)
{
    return tex_symbol(tex, slice_of(name));
}

struct symbol *tex_symbol_at(struct tex *tex, const char *name)
{
    uint32_t symbol = tex_symbol_of(tex, name);
    return &tex->symbols[symbol];
}

/* ---- Assignments and groups ---- */

static void save(struct tex *tex, struct saved saved)
{
    MEM_RESERVE(tex->saved, &tex->saved_capacity, tex->saved_count + 1);
    tex->saved[tex->saved_count++] = saved;
}

void tex_define(struct tex *tex, uint32_t symbol, struct meaning meaning,
                bool global)
{
    struct meaning *old = &tex->symbols[symbol].meaning;
    if (old->firm)
        return;
    meaning.level = (uint16_t)(global ? 0 : tex->level);
    if (meaning.level && old->level != meaning.level)
        save(tex,
             (struct saved){.symbol = symbol,
                            .meaning = *old,
                            .environment = tex->symbols[symbol].environment});
    *old = meaning;
}

void tex_set_catcode(struct tex *tex, unsigned byte, int cat, bool global)
{
    if (tex->level && !global)
        save(tex, (struct saved){.symbol = SAVED_CATCODE,
                                 .index = byte,
                                 .value = tex->catcodes[byte]});
    tex->catcodes[byte] = (uint8_t)cat;
}

void tex_set_count(struct tex *tex, uint32_t index, int64_t value, bool global)
{
    if (tex->level && !global)
        save(tex, (struct saved){.symbol = SAVED_COUNT,
                                 .index = index,
                                 .value = tex->counts[index]});
    tex->counts[index] = value;
}

void tex_open_group(struct tex *tex)
{
    MEM_RESERVE(tex->levels, &tex->level_capacity, tex->level + (size_t)1);
    tex->levels[tex->level++] = tex->saved_count;
}

static void restore(struct tex *tex, const struct saved *saved)
{
    if (saved->symbol == SAVED_CATCODE) {
        tex->catcodes[saved->index] = (uint8_t)saved->value;
    } else if (saved->symbol == SAVED_COUNT) {
        tex->counts[saved->index] = saved->value;
    } else {
        struct symbol *symbol = &tex->symbols[saved->symbol];
        if (!symbol->meaning.level) /* it was made global meanwhile */
            return;
        symbol->meaning = saved->meaning;
        symbol->environment = saved->environment;
    }
}

void tex_close_group(struct tex *tex)
{
    if (!tex->level)
        return;
    size_t base = tex->levels[--tex->level];
    while (tex->saved_count > base)
        restore(tex, &tex->saved[--tex->saved_count]);
}

uint32_t tex_new_count(struct tex *tex)
{
    if (tex->count_count >= MAX_REGISTERS)
        return tex->count_count - 1;
    MEM_RESERVE(tex->counts, &tex->count_capacity,
                tex->count_count + (size_t)1);
    tex->counts[tex->count_count] = 0;
    return tex->count_count++;
}

void tex_add_commands(struct tex *tex, const struct command *commands,
                      size_t count, int kind, bool firm)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t symbol = tex_symbol_of(tex, commands[i].name);
        tex->symbols[symbol].meaning = (struct meaning){
            .kind = (uint8_t)kind, .firm = firm, .command = &commands[i]};
    }
}

void tex_keep_commands(struct tex *tex, const struct command *commands,
                       size_t count, bool keep)
{
    for (size_t i = 0; i < count; i++) {
        struct meaning *meaning =
            &tex_symbol_at(tex, commands[i].name)->meaning;
        if (meaning->kind == MEANING_COMMAND &&
            meaning->command == &commands[i])
            meaning->firm = keep;
    }
}

/* ---- Reports ---- */

void tex_report(struct tex *tex, struct token where, const char *format, ...)
{
    if (++tex->report_count > MAX_REPORTS)
        return;
    if (where.file < tex->file_count) {
        const struct tex_file *file = &tex->files[where.file];
        struct span span =
            transcode_span(&file->transcoded, where.from, where.from);
        if (file->path.size)
            buf_printf(&tex->reports, "%s: ", file->path.data);
        buf_printf(&tex->reports, "byte %llu: ", (unsigned long long)span.from);
    }
    char line[400];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    size_t size = strlen(line);
    if (size == sizeof line - 1) /* it may end within a character */
        while (size && !text_is_utf8(line, size))
            size--;
    buf_put(&tex->reports, line, size);
    buf_put_byte(&tex->reports, '\n');
}

/* ---- Life ---- */

void tex_init(struct tex *tex)
{
    static const struct {
        char character;
        uint8_t cat;
    } special[] = {
        {'\\', CAT_ESCAPE},  {'{', CAT_BEGIN},   {'}', CAT_END},
        {'$', CAT_MATH},     {'&', CAT_ALIGN},   {'#', CAT_PARAMETER},
        {'^', CAT_SUPER},    {'_', CAT_SUB},     {'\t', CAT_SPACE},
        {' ', CAT_SPACE},    {'%', CAT_COMMENT}, {'~', CAT_ACTIVE},
        {'\n', CAT_LINE_END}};
    *tex = (struct tex){0};
    for (unsigned c = 0; c < 256; c++) {
        bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        tex->catcodes[c] = letter    ? CAT_LETTER
                           : c < ' ' ? CAT_IGNORED
                                     : CAT_OTHER;
    }
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        tex->catcodes[(unsigned char)special[i].character] = special[i].cat;
    grow_slots(tex);
    MEM_RESERVE(tex->symbols, &tex->symbol_capacity, 3000);
    tex->par = tex_symbol_of(tex, "par");
    tex->begin = tex_symbol_of(tex, "begin");
    tex->end = tex_symbol_of(tex, "end");
    tex->relax = tex_symbol_of(tex, "relax");
    tex->no_value = tex_symbol_of(tex, "-NoValue-");
    tex->end_of = tex_symbol_of(tex, "-end environment-");
    define_add(tex);
    newcommand_add(tex);
    expand_add(tex);
    number_add(tex);
    registers_add(tex);
    counters_add(tex);
    condition_add(tex);
    packages_add(tex);
    environ_add(tex);
    etoolbox_add(tex);
    keys_add(tex);
    append_add(tex);
    streams_add(tex);
    babel_add(tex);
}

void tex_free(struct tex *tex)
{
    for (size_t i = 0; i < tex->input_count; i++)
        tokens_free(&tex->inputs[i].list);
    for (uint32_t i = 0; i < tex->register_count; i++)
        tokens_free(&tex->registers[i]);
    for (size_t i = 0; i <= MAX_ARGUMENTS; i++)
        tokens_free(&tex->scratch[i]);
    for (size_t i = 0; i < tex->file_count; i++)
        transcode_free(&tex->files[i].transcoded);
    streams_free(tex);
    free(tex->registers);
    free(tex->resets);
    free(tex->inputs);
    free(tex->conditions);
    free(tex->files);
    free(tex->counts);
    free(tex->symbols);
    free(tex->slots);
    free(tex->saved);
    free(tex->levels);
    buf_free(&tex->reports);
    arena_free(&tex->arena);
}
