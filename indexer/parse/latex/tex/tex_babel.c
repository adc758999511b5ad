/* babel: shorthands of the document's own, and words that differ by language. */
#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

/* The name of what the shorthand of these characters does. */
static uint32_t shorthand_symbol(struct tex *tex, uint32_t first,
                                 uint32_t second)
{
    struct buf name = {0};
    buf_put_text(&name, "shorthand ");
    text_encode(&name, first);
    if (second)
        text_encode(&name, second);
    uint32_t symbol = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    return symbol;
}

/* The character that the token is, also an active one; 0: none. */
static uint32_t character_of(const struct tex *tex, struct token token)
{
    if (token.cat != CAT_NAME)
        return token.cat < CAT_NAME ? token.value : 0;
    struct slice name = tex->symbols[token.value].name;
    return name.size == 2 && name.data[0] == '\1' ? (unsigned char)name.data[1]
                                                  : 0;
}

static bool is_defined(const struct tex *tex, uint32_t symbol)
{
    return tex->symbols[symbol].meaning.kind == MEANING_MACRO;
}

/* An active character: what it does with the next one, or itself. */
static void run_shorthand(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct token next = tex_next(tex);
    uint32_t first = character_of(tex, call), second = character_of(tex, next);
    uint32_t both = shorthand_symbol(tex, first, second ? second : ' ');
    uint32_t alone = shorthand_symbol(tex, first, 0);
    (void)command;
    if (is_defined(tex, both)) {
        call.value = both;
        tex_unread(tex, call);
        return;
    }
    tex_unread(tex, next);
    if (is_defined(tex, alone)) {
        call.value = alone;
    } else {
        call.cat = CAT_OTHER;
        call.value = first;
    }
    tex_unread(tex, call);
}

static const struct command shorthand = {"-shorthand-", run_shorthand, NULL, 0,
                                         NULL};

/* \useshorthands{c} */
static void run_use(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct tokens list = {0};
    (void)command;
    (void)call;
    tex_read_character(tex, '*');
    tex_read_argument(tex, &list);
    uint32_t c = list.count ? character_of(tex, list.items[0]) : 0;
    tokens_free(&list);
    if (c <= ' ' || c >= 0x80 || tex->catcodes[c] == CAT_ESCAPE ||
        tex->catcodes[c] == CAT_BEGIN || tex->catcodes[c] == CAT_END)
        return;
    char name[2] = {'\1', (char)c};
    uint32_t symbol = tex_symbol(tex, (struct slice){name, 2});
    tex_define(tex, symbol,
               (struct meaning){.kind = MEANING_EXPANDS, .command = &shorthand},
               true);
    tex_set_catcode(tex, (unsigned)c, CAT_ACTIVE, true);
}

/* \defineshorthand[languages]{cx}{code} */
static void run_define(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens signs = {0};
    struct macro macro = {0};
    (void)command;
    (void)call;
    tex_skip_before(tex, "o");
    tex_read_argument(tex, &signs);
    tex_read_argument(tex, &macro.body);
    uint32_t first = signs.count ? character_of(tex, signs.items[0]) : 0;
    uint32_t second = signs.count > 1 ? character_of(tex, signs.items[1]) : 0;
    if (first) {
        tex->global = true;
        define_macro(tex, shorthand_symbol(tex, first, second), macro);
    }
    tokens_free(&signs);
    tokens_free(&macro.body);
}

/* \setlocalecaption{language}{name}{text}: \namename from now on. */
static void run_caption(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf name = {0};
    struct macro macro = {0};
    (void)command;
    (void)call;
    tex_skip_before(tex, "m");
    tex_read_text(tex, &name);
    tex_read_argument(tex, &macro.body);
    buf_put_text(&name, "name");
    tex->global = true;
    define_macro(tex, tex_symbol(tex, buf_slice(&name)), macro);
    buf_free(&name);
    tokens_free(&macro.body);
}

static const struct command commands[] = {
    {"useshorthands", run_use, NULL, 0, NULL},
    {"defineshorthand", run_define, NULL, 0, NULL},
    {"setlocalecaption", run_caption, NULL, 0, NULL},
};

void babel_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
