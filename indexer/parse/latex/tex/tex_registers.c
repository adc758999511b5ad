/* Registers, category codes and TeX's own parameters. */
#include <stdlib.h>

#include "indexer/parse/latex/tex/tex.h"

/* A register given by number, as \count7: made when it is first met.  Its
 * symbol begins with a byte that no name in UTF-8 has, so that no document can
 * define it as something else. */
static struct token numbered(struct tex *tex, const char *kind)
{
    struct buf name = {0};
    struct token token = {.cat = CAT_NAME, .file = UINT16_MAX};
    int meaning = !strcmp(kind, "toks")    ? MEANING_TOKENS
                  : !strcmp(kind, "count") ? MEANING_COUNT
                                           : MEANING_DIMENSION;
    buf_printf(&name, "\xff%s %lld", kind, (long long)number_read(tex));
    token.value = tex_symbol(tex, buf_slice(&name));
    buf_free(&name);
    if (tex_meaning(tex, token)->kind == MEANING_NONE)
        register_new(tex, token.value, meaning);
    return token;
}

static bool take_global(struct tex *tex)
{
    bool global = tex->global;
    tex->global = false;
    return global;
}

/* \toks0=<filler>{..} or =\toks1: what expands does, up to the brace. */
static void read_tokens(struct tex *tex, struct tokens *ret)
{
    struct token token;
    do
        token = tex_next_expanded(tex);
    while (token.cat == CAT_SPACE || token_is(token, CAT_NAME, tex->relax));
    if (token.cat == CAT_NAME) {
        struct meaning meaning = *tex_meaning(tex, register_of(tex, token));
        if (meaning.kind == MEANING_TOKENS) {
            const struct tokens *from = &tex->registers[meaning.index];
            tokens_add_all(ret, from->items, from->count);
            return;
        }
    }
    tex_unread(tex, token);
    tex_read_argument(tex, ret);
}

static void assign_tokens(struct tex *tex, uint32_t index)
{
    struct tokens list = {0};
    read_tokens(tex, &list);
    tokens_free(&tex->registers[index]);
    if (list.count < 100000)
        tex->registers[index] = list;
    else
        tokens_free(&list);
    take_global(tex);
}

void register_assign(struct tex *tex, struct token token)
{
    struct meaning meaning = *tex_meaning(tex, token);
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    if (meaning.kind == MEANING_TOKENS) {
        assign_tokens(tex, meaning.index);
        return;
    }
    int64_t value = meaning.kind == MEANING_COUNT ? number_read(tex)
                                                  : number_read_glue(tex);
    tex_set_count(tex, meaning.index, value, take_global(tex));
}

static void run_numbered(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)call;
    register_assign(tex, numbered(tex, command->name));
}

/* \countdef\name=7 */
static void run_numbered_name(struct tex *tex, const struct command *command,
                              struct token call)
{
    struct token name = tex_next_solid(tex);
    (void)call;
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    struct meaning meaning = *tex_meaning(tex, numbered(tex, command->text));
    if (name.cat == CAT_NAME)
        tex_define(tex, name.value, meaning, take_global(tex));
}

static void run_catcode(struct tex *tex, const struct command *command,
                        struct token call)
{
    int64_t c = number_read(tex);
    (void)call;
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    int64_t value = number_read(tex);
    bool global = take_global(tex);
    if (!command->value || c < 0 || c > 127 || value < 0 || value > 15)
        return;
    if (c == '\r')
        c = '\n';
    tex_set_catcode(tex, (unsigned)c, (int)value, global);
}

struct token register_of(struct tex *tex, struct token token)
{
    const struct meaning *meaning = tex_meaning(tex, token);
    bool by_number = meaning->kind == MEANING_COMMAND &&
                     meaning->command->run == run_numbered;
    return by_number ? numbered(tex, meaning->command->name) : token;
}

bool register_value(struct tex *tex, const struct command *command,
                    int64_t *ret)
{
    if (command->run != run_catcode)
        return false;
    int64_t c = number_read(tex);
    *ret = c >= 0 && c < 256 ? tex->catcodes[c] : CAT_OTHER;
    return true;
}

static void run_atletter(struct tex *tex, const struct command *command,
                         struct token call)
{
    (void)call;
    tex_set_catcode(tex, '@', command->value, false);
}

/* \@makeother\%: \catcode`\%=12 */
static void run_other(struct tex *tex, const struct command *command,
                      struct token call)
{
    struct tokens list = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &list);
    if (list.count == 1) {
        struct token token = list.items[0];
        uint32_t c = token.value;
        if (token.cat == CAT_NAME) {
            struct slice name = tex->symbols[token.value].name;
            c = name.size ? (unsigned char)name.data[name.size - 1] : 0;
        }
        if (c && c < 0x80)
            tex_set_catcode(tex, c, CAT_OTHER, false);
    }
    tokens_free(&list);
}

static void run_advance(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token token = tex_next_solid(tex);
    uint32_t index;
    (void)call;
    if (token.cat != CAT_NAME)
        return;
    struct meaning meaning = *tex_meaning(tex, register_of(tex, token));
    if (meaning.kind == MEANING_COUNT || meaning.kind == MEANING_DIMENSION)
        index = meaning.index;
    else
        return;
    tex_read_word(tex, "by");
    bool add = command->value == '+';
    int64_t by = add && meaning.kind == MEANING_DIMENSION
                     ? number_read_dimension(tex)
                     : number_read(tex);
    int64_t old = tex->counts[index];
    int64_t value = add                     ? old + by
                    : command->value == '*' ? old * by
                    : by                    ? old / by
                                            : 0;
    tex_set_count(tex, index, number_bounded(value), take_global(tex));
}

/* ---- New ones ---- */

void register_new(struct tex *tex, uint32_t symbol, int kind)
{
    struct meaning meaning = {.kind = (uint8_t)kind};
    if (kind == MEANING_TOKENS) {
        if (tex->register_count >= MAX_REGISTERS)
            return;
        MEM_RESERVE(tex->registers, &tex->register_capacity,
                    tex->register_count + (size_t)1);
        tex->registers[tex->register_count] = (struct tokens){0};
        meaning.index = tex->register_count++;
    } else {
        meaning.index = tex_new_count(tex);
    }
    tex_define(tex, symbol, meaning, true);
}

static void run_new(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct token name;
    (void)call;
    if (tex_read_name(tex, &name))
        register_new(tex, name.value, command->value);
}

static void run_chardef(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct token name = tex_next_solid(tex);
    struct meaning meaning = {.kind = MEANING_CHARACTER};
    (void)call;
    (void)command;
    tex_skip_spaces(tex);
    tex_read_character(tex, '=');
    int64_t value = number_read(tex);
    meaning.character.value =
        value > 0 && value < 0x110000 ? (uint32_t)value : 0;
    meaning.character.cat = CAT_OTHER;
    if (name.cat == CAT_NAME)
        tex_define(tex, name.value, meaning, take_global(tex));
}

static const struct command commands[] = {
    {"catcode", run_catcode, NULL, 1, NULL},
    {"lccode", run_catcode, NULL, 0, NULL},
    {"uccode", run_catcode, NULL, 0, NULL},
    {"sfcode", run_catcode, NULL, 0, NULL},
    {"mathcode", run_catcode, NULL, 0, NULL},
    {"delcode", run_catcode, NULL, 0, NULL},
    {"@makeother", run_other, NULL, 0, NULL},
    {"makeatletter", run_atletter, NULL, CAT_LETTER, NULL},
    {"makeatother", run_atletter, NULL, CAT_OTHER, NULL},
    {"count", run_numbered, NULL, 0, NULL},
    {"dimen", run_numbered, NULL, 0, NULL},
    {"skip", run_numbered, NULL, 0, NULL},
    {"toks", run_numbered, NULL, 0, NULL},
    {"countdef", run_numbered_name, NULL, 0, "count"},
    {"dimendef", run_numbered_name, NULL, 0, "dimen"},
    {"skipdef", run_numbered_name, NULL, 0, "skip"},
    {"toksdef", run_numbered_name, NULL, 0, "toks"},
    {"advance", run_advance, NULL, '+', NULL},
    {"multiply", run_advance, NULL, '*', NULL},
    {"divide", run_advance, NULL, '/', NULL},
    {"newcount", run_new, NULL, MEANING_COUNT, NULL},
    {"newdimen", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newskip", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newmuskip", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newlength", run_new, NULL, MEANING_DIMENSION, NULL},
    {"newtoks", run_new, NULL, MEANING_TOKENS, NULL},
    {"newbox", run_new, NULL, MEANING_COUNT, NULL},
    {"newsavebox", run_new, NULL, MEANING_COUNT, NULL},
    {"newwrite", run_new, NULL, MEANING_COUNT, NULL},
    {"newread", run_new, NULL, MEANING_COUNT, NULL},
    {"newinsert", run_new, NULL, MEANING_COUNT, NULL},
    {"newlanguage", run_new, NULL, MEANING_COUNT, NULL},
    {"chardef", run_chardef, NULL, 0, NULL},
    {"mathchardef", run_chardef, NULL, 0, NULL},
};

/* Parameters of TeX and LaTeX that documents set. */
static const char *const dimensions[] = {"splitmaxdepth",
                                         "boxmaxdepth",
                                         "normallineskip",
                                         "normallineskiplimit",
                                         "scriptspace",
                                         "predisplaysize",
                                         "leftmarginv",
                                         "leftmarginvi",
                                         "dblfloatsep",
                                         "dbltextfloatsep",
                                         "@fptop",
                                         "@fpsep",
                                         "@fpbot",
                                         "@dblfptop",
                                         "@dblfpsep",
                                         "@dblfpbot",
                                         "pagetotal",
                                         "pagegoal",
                                         "bibindent",
                                         "@topsep",
                                         "@topsepadd",
                                         "parindent",
                                         "parskip",
                                         "textwidth",
                                         "textheight",
                                         "oddsidemargin",
                                         "evensidemargin",
                                         "topmargin",
                                         "headheight",
                                         "headsep",
                                         "footskip",
                                         "hsize",
                                         "vsize",
                                         "hoffset",
                                         "voffset",
                                         "baselineskip",
                                         "lineskip",
                                         "leftskip",
                                         "rightskip",
                                         "leftmargin",
                                         "rightmargin",
                                         "leftmargini",
                                         "leftmarginii",
                                         "leftmarginiii",
                                         "leftmarginiv",
                                         "labelwidth",
                                         "labelsep",
                                         "itemsep",
                                         "parsep",
                                         "topsep",
                                         "partopsep",
                                         "itemindent",
                                         "listparindent",
                                         "tabcolsep",
                                         "arraycolsep",
                                         "arrayrulewidth",
                                         "doublerulesep",
                                         "fboxsep",
                                         "fboxrule",
                                         "columnsep",
                                         "columnseprule",
                                         "columnwidth",
                                         "linewidth",
                                         "marginparwidth",
                                         "marginparsep",
                                         "marginparpush",
                                         "footnotesep",
                                         "abovedisplayskip",
                                         "belowdisplayskip",
                                         "abovedisplayshortskip",
                                         "belowdisplayshortskip",
                                         "emergencystretch",
                                         "overfullrule",
                                         "hfuzz",
                                         "vfuzz",
                                         "parfillskip",
                                         "mathsurround",
                                         "topskip",
                                         "maxdepth",
                                         "splittopskip",
                                         "unitlength",
                                         "paperwidth",
                                         "paperheight",
                                         "pdfpagewidth",
                                         "pdfpageheight",
                                         "pdfhorigin",
                                         "pdfvorigin",
                                         "abovecaptionskip",
                                         "belowcaptionskip",
                                         "textfloatsep",
                                         "floatsep",
                                         "intextsep",
                                         "LTleft",
                                         "LTright",
                                         "lineskiplimit",
                                         "displayindent",
                                         "displaywidth",
                                         "xspaceskip",
                                         "spaceskip",
                                         "tabskip",
                                         "hangindent",
                                         "normalbaselineskip",
                                         "jot",
                                         "smallskipamount",
                                         "medskipamount",
                                         "bigskipamount",
                                         "ht",
                                         "dp",
                                         "wd",
                                         "marginparwidth",
                                         "extrarowheight",
                                         "aboverulesep",
                                         "belowrulesep",
                                         "cftbeforechapskip",
                                         "labelindent",
                                         "z@",
                                         "p@",
                                         "@totalleftmargin",
                                         "prevdepth",
                                         "lastskip",
                                         "lastkern",
                                         "itemindent",
                                         "thinmuskip",
                                         "medmuskip",
                                         "thickmuskip",
                                         "delimitershortfall",
                                         "nulldelimiterspace"};
static const char *const integers[] = {"footins",
                                       "@mpfootins",
                                       "tolerance",
                                       "pretolerance",
                                       "hbadness",
                                       "vbadness",
                                       "linepenalty",
                                       "hyphenpenalty",
                                       "exhyphenpenalty",
                                       "clubpenalty",
                                       "widowpenalty",
                                       "displaywidowpenalty",
                                       "brokenpenalty",
                                       "interlinepenalty",
                                       "predisplaypenalty",
                                       "postdisplaypenalty",
                                       "hangafter",
                                       "looseness",
                                       "day",
                                       "month",
                                       "year",
                                       "time",
                                       "mag",
                                       "language",
                                       "uchyph",
                                       "lefthyphenmin",
                                       "righthyphenmin",
                                       "escapechar",
                                       "endlinechar",
                                       "newlinechar",
                                       "defaulthyphenchar",
                                       "tracingonline",
                                       "tracingmacros",
                                       "tracingparagraphs",
                                       "tracingpages",
                                       "tracingcommands",
                                       "showboxbreadth",
                                       "showboxdepth",
                                       "pausing",
                                       "fam",
                                       "pdfoutput",
                                       "pdfcompresslevel",
                                       "pdfminorversion",
                                       "pdfobjcompresslevel",
                                       "adjdemerits",
                                       "doublehyphendemerits",
                                       "finalhyphendemerits",
                                       "floatingpenalty",
                                       "relpenalty",
                                       "binoppenalty",
                                       "errorcontextlines",
                                       "tracingstats",
                                       "delimiterfactor",
                                       "@topnum",
                                       "@botnum",
                                       "@colnum",
                                       "@dbltopnum",
                                       "@beginparpenalty",
                                       "@endparpenalty",
                                       "@itempenalty",
                                       "@secpenalty",
                                       "defaultskewchar",
                                       "globaldefs",
                                       "pageno",
                                       "spacefactor",
                                       "m@ne",
                                       "@lowpenalty",
                                       "@medpenalty",
                                       "@highpenalty",
                                       "inputlineno",
                                       "badness",
                                       "interfootnotelinepenalty",
                                       "maxdeadcycles",
                                       "outputpenalty",
                                       "everypage"};
static const char *const lists[] = {
    "everypar",  "everymath", "everydisplay", "output",  "everyhbox",
    "everyvbox", "toks@",     "everyjob",     "everycr", "@emptytoks"};
/* Scratch names of TeX's formats. */
static const char *const scratch[] = {"@tempcnta", "@tempcntb", "count@"};
static const char *const scratch_dimensions[] = {
    "@tempdima", "@tempdimb", "@tempdimc", "@tempskipa", "@tempskipb",
    "dimen@",    "dimen@i",   "skip@",     "skip@@"};

/* Numbers that LaTeX's kernel has names for, as \chardef makes them. */
static const struct {
    const char *name;
    uint32_t value;
} constants[] = {{"@ne", 1},       {"tw@", 2},      {"thr@@", 3},
                 {"active", 13},   {"sixt@@n", 16}, {"@xxxii", 32},
                 {"@cclv", 255},   {"@cclvi", 256}, {"@m", 1000},
                 {"@M", 10000},    {"@Mi", 10001},  {"@Mii", 10002},
                 {"@Miii", 10003}, {"@Miv", 10004}, {"@MM", 20000}};

static void add_constants(struct tex *tex)
{
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        struct meaning meaning = {.kind = MEANING_CHARACTER};
        meaning.character.value = constants[i].value;
        meaning.character.cat = CAT_OTHER;
        tex_define(tex, tex_symbol_of(tex, constants[i].name), meaning, true);
    }
}

static void add_registers(struct tex *tex, const char *const *names,
                          size_t count, int kind)
{
    for (size_t i = 0; i < count; i++)
        register_new(tex, tex_symbol_of(tex, names[i]), kind);
}

#define ADD(names, kind)                                                       \
    add_registers(tex, names, sizeof(names) / sizeof *(names), kind)

void registers_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, true);
    ADD(dimensions, MEANING_DIMENSION);
    ADD(integers, MEANING_COUNT);
    ADD(lists, MEANING_TOKENS);
    ADD(scratch, MEANING_COUNT);
    ADD(scratch_dimensions, MEANING_DIMENSION);
    add_constants(tex);
    tex_define_text(
        tex, "dospecials",
        "\\do\\ \\do\\\\\\do\\{\\do\\}\\do\\$\\do\\&\\do\\#\\do\\^\\do\\_"
        "\\do\\%\\do\\~");
    tex_define_text(tex, "@sanitize",
                    "\\@makeother\\ \\@makeother\\\\\\@makeother\\$"
                    "\\@makeother\\&\\@makeother\\#\\@makeother\\^"
                    "\\@makeother\\_\\@makeother\\%\\@makeother\\~");
    const struct meaning *one = &tex_symbol_at(tex, "p@")->meaning;
    tex->counts[one->index] = 65536;
    tex->counts[tex_symbol_at(tex, "m@ne")->meaning.index] = -1;
    tex->counts[tex_symbol_at(tex, "pdfoutput")->meaning.index] = 1;
}
