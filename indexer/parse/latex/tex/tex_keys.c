/* Keys with values: keyval's \define@key and \setkeys (keyval 1.15), and what
 * scrbase makes of them.  A key is the macro \KV@FAMILY@KEY of its value. */
#include "indexer/parse/latex/tex/tex.h"

static void put_key(struct slice family, struct slice key, struct buf *ret)
{
    buf_put_text(ret, "KV@");
    buf_put_slice(ret, family);
    buf_put_byte(ret, '@');
    buf_put_slice(ret, key);
}

static struct token named(uint32_t symbol)
{
    return (struct token){.cat = CAT_NAME, .value = symbol, .file = UINT16_MAX};
}

/* ---- Defining ---- */

static void define_global(struct tex *tex, uint32_t symbol, struct macro macro)
{
    tex->global = true;
    define_macro(tex, symbol, macro);
}

void keys_define(struct tex *tex, struct slice family, struct slice key,
                 const struct tokens *value, const struct tokens *body)
{
    static const struct argument one = {.kind = 'm'};
    struct buf name = {0};
    put_key(family, key, &name);
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    struct argument *argument = arena_alloc(&tex->arena, sizeof *argument);
    *argument = one;
    define_global(tex, symbol,
                  (struct macro){.argument_count = 1,
                                 .arguments = argument,
                                 .body = *body});
    if (value) {
        struct macro macro = {0};
        buf_put_text(&name, "@default");
        tokens_add(&macro.body, named(symbol));
        tokens_add_group(&macro.body, value, named(symbol));
        define_global(tex, tex_symbol(tex, buf_slice(&name)), macro);
        tokens_free(&macro.body);
    }
    buf_free(&name);
}

/* \define@key{family}{key}[value]{body}; \DefineFamilyKey[member]{family}.. */
static void run_define_key(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct buf family = {0}, key = {0};
    struct tokens value = {0}, body = {0};
    (void)call;
    tex_skip_before(tex, command->before);
    tex_read_text(tex, &family);
    tex_read_text(tex, &key);
    bool has_value = tex_read_optional(tex, &value);
    tex_read_argument(tex, &body);
    define_parameters(tex, &body);
    keys_define(tex, buf_slice(&family), buf_slice(&key),
                has_value ? &value : NULL, &body);
    tokens_free(&value);
    tokens_free(&body);
    buf_free(&family);
    buf_free(&key);
}

/* ---- Setting ---- */

struct tokens keys_trim(const struct token *items, size_t count)
{
    struct tokens list = {0};
    while (count && items[0].cat == CAT_SPACE) {
        items++;
        count--;
    }
    while (count && items[count - 1].cat == CAT_SPACE)
        count--;
    tokens_add_all(&list, items, count);
    return list;
}

static bool is_sign(struct token token, uint32_t sign)
{
    return token.cat == CAT_OTHER && token.value == sign;
}

size_t keys_find(const struct tokens *list, size_t from, uint32_t sign)
{
    size_t depth = 0;
    for (; from < list->count; from++) {
        struct token token = list->items[from];
        if (!depth && is_sign(token, sign))
            break;
        depth += token.cat == CAT_BEGIN;
        depth -= token.cat == CAT_END && depth;
    }
    return from;
}

bool keys_next(const struct tokens *list, size_t *from,
               struct keys_setting *ret)
{
    if (*from >= list->count)
        return false;
    size_t to = keys_find(list, *from, ',');
    const struct tokens one = {.items = list->items + *from,
                               .count = to - *from};
    size_t equals = keys_find(&one, 0, '=');
    *ret = (struct keys_setting){.key = keys_trim(one.items, equals),
                                 .has_value = equals < one.count};
    if (ret->has_value)
        ret->value = keys_trim(one.items + equals + 1, one.count - equals - 1);
    *from = to + 1;
    return true;
}

void keys_setting_free(struct keys_setting *setting)
{
    tokens_free(&setting->key);
    tokens_free(&setting->value);
}

bool keys_value(struct tex *tex, const struct tokens *list, const char *key,
                struct tokens *ret)
{
    bool found = false;
    struct keys_setting one;
    for (size_t from = 0; keys_next(list, &from, &one);) {
        struct buf name = {0};
        if (one.has_value)
            tex_expand_text(tex, &one.key, &name);
        if (slice_is(buf_slice(&name), key)) {
            tokens_free(ret);
            *ret = one.value;
            one.value = (struct tokens){0};
            found = ret->count > 0;
        }
        buf_free(&name);
        keys_setting_free(&one);
    }
    return found;
}

static void add_setting(struct tex *tex, struct slice family,
                        struct keys_setting *setting, struct token call,
                        struct tokens *ret)
{
    struct buf text = {0}, name = {0};
    if (setting->has_value)
        tex_strip_braces(&setting->value, 0);
    tex_expand_text(tex, &setting->key, &text);
    put_key(family, buf_slice(&text), &name);
    if (!setting->has_value)
        buf_put_text(&name, "@default");
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&name));
    if (symbol != UINT32_MAX &&
        tex->symbols[symbol].meaning.kind == MEANING_MACRO) {
        call.cat = CAT_NAME;
        call.value = symbol;
        tokens_add(ret, call);
        if (setting->has_value)
            tokens_add_group(ret, &setting->value, call);
    }
    buf_free(&text);
    buf_free(&name);
}

void keys_set(struct tex *tex, struct slice family,
              const struct tokens *settings, struct token call)
{
    struct tokens run = {0};
    struct keys_setting one;
    for (size_t from = 0; keys_next(settings, &from, &one);) {
        add_setting(tex, family, &one, call, &run);
        keys_setting_free(&one);
    }
    tex_push(tex, run);
}

/* \setkeys{family}{key=value,..} */
static void run_setkeys(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf family = {0};
    struct tokens settings = {0};
    (void)command;
    tex_read_text(tex, &family);
    tex_read_argument(tex, &settings);
    keys_set(tex, buf_slice(&family), &settings, call);
    tokens_free(&settings);
    buf_free(&family);
}

static const struct command commands[] = {
    {"define@key", run_define_key, NULL, 0, NULL},
    {"DefineFamilyKey", run_define_key, "o", 0, NULL},
    {"setkeys", run_setkeys, NULL, 0, NULL},
    {"FamilyOptions", run_setkeys, NULL, 0, NULL},
};

void keys_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
