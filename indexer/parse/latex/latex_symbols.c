/* Accents, signs and quantities as Unicode. */
#include <ctype.h>
#include <utf8proc.h>

#include "base/text.h"
#include "indexer/parse/latex/latex_internal.h"

/* ---- Signs ---- */

static void run_sign(struct tex *tex, const struct command *command,
                     struct token call)
{
    document_put_text(document_of(tex), call, command->text);
}

const char *text_sign(const struct command *command)
{
    return command->run == run_sign ? command->text : NULL;
}

#define SIGN(name, text)                                                       \
    {                                                                          \
        name, run_sign, NULL, 0, text                                          \
    }

/* Words whose definitions say how they are set, and are left alone. */
static const struct command names_of_tex[] = {
    SIGN("TeX", "TeX"),
    SIGN("LaTeX", "LaTeX"),
    SIGN("LaTeXe", "LaTeX2ε"),
    SIGN("BibTeX", "BibTeX"),
    SIGN("XeTeX", "XeTeX"),
    SIGN("XeLaTeX", "XeLaTeX"),
    SIGN("LuaTeX", "LuaTeX"),
    SIGN("LuaLaTeX", "LuaLaTeX"),
    SIGN("pdfTeX", "pdfTeX"),
    SIGN("ConTeXt", "ConTeXt"),
    SIGN("KOMAScript", "KOMA-Script"),
    SIGN("eTeX", "eTeX"),
    SIGN("AmS", "AmS"),
    SIGN("AmSTeX", "AmSTeX"),
    SIGN("METAFONT", "METAFONT"),
    SIGN("METAPOST", "METAPOST"),
    SIGN("SliTeX", "SliTeX"),
};

static const struct command signs[] = {
    SIGN("$", "$"),
    SIGN("&", "&"),
    SIGN("%", "%"),
    SIGN("#", "#"),
    SIGN("_", "_"),
    SIGN("\1_", "_"), /* as the format has it when it is active */
    SIGN("{", "{"),
    /* Pygments' and Sphinx's for code */
    SIGN("PYGZdq", "\""),
    SIGN("PYGZsq", "'"),
    SIGN("PYGZus", "_"),
    SIGN("PYGZob", "{"),
    SIGN("PYGZcb", "}"),
    SIGN("PYGZbs", "\\"),
    SIGN("PYGZhy", "-"),
    SIGN("PYGZlt", "<"),
    SIGN("PYGZgt", ">"),
    SIGN("PYGZsh", "#"),
    SIGN("PYGZpc", "%"),
    SIGN("PYGZdl", "$"),
    SIGN("PYGZti", "~"),
    SIGN("PYGZam", "&"),
    SIGN("PYGZca", "^"),
    SIGN("sphinxhyphen", "-"),
    SIGN("}", "}"),
    SIGN("lbrace", "{"),
    SIGN("rbrace", "}"),
    SIGN("MF", "METAFONT"),
    SIGN("ss", "ß"),
    SIGN("SS", "SS"),
    SIGN("ae", "æ"),
    SIGN("AE", "Æ"),
    SIGN("oe", "œ"),
    SIGN("OE", "Œ"),
    SIGN("o", "ø"),
    SIGN("O", "Ø"),
    SIGN("aa", "å"),
    SIGN("AA", "Å"),
    SIGN("l", "ł"),
    SIGN("L", "Ł"),
    SIGN("i", "ı"),
    SIGN("j", "ȷ"),
    SIGN("dh", "ð"),
    SIGN("DH", "Ð"),
    SIGN("th", "þ"),
    SIGN("TH", "Þ"),
    SIGN("dj", "đ"),
    SIGN("DJ", "Đ"),
    SIGN("ng", "ŋ"),
    SIGN("NG", "Ŋ"),
    SIGN("S", "§"),
    SIGN("P", "¶"),
    SIGN("textsection", "§"),
    SIGN("textparagraph", "¶"),
    SIGN("copyright", "©"),
    SIGN("textcopyright", "©"),
    SIGN("textregistered", "®"),
    SIGN("texttrademark", "™"),
    SIGN("pounds", "£"),
    SIGN("textsterling", "£"),
    SIGN("euro", "€"),
    SIGN("texteuro", "€"),
    SIGN("EUR", "€"),
    SIGN("textdollar", "$"),
    SIGN("textcent", "¢"),
    SIGN("textyen", "¥"),
    SIGN("dag", "†"),
    SIGN("ddag", "‡"),
    SIGN("textdagger", "†"),
    SIGN("textdaggerdbl", "‡"),
    SIGN("textbullet", "•"),
    SIGN("ldots", "…"),
    SIGN("dots", "…"),
    SIGN("textellipsis", "…"),
    SIGN("cdots", "⋯"),
    SIGN("slash", "/"),
    SIGN("textbackslash", "\\"),
    SIGN("backslash", "\\"),
    SIGN("@backslashchar", "\\"),
    SIGN("bslash", "\\"),
    SIGN("textasciitilde", "~"),
    SIGN("textasciicircum", "^"),
    SIGN("textasciigrave", "`"),
    SIGN("textquotesingle", "'"),
    SIGN("textquotedbl", "\""),
    SIGN("textunderscore", "_"),
    SIGN("textbar", "|"),
    SIGN("textless", "<"),
    SIGN("textgreater", ">"),
    SIGN("textbraceleft", "{"),
    SIGN("textbraceright", "}"),
    SIGN("textemdash", "—"),
    SIGN("textendash", "–"),
    SIGN("textquoteleft", "‘"),
    SIGN("textquoteright", "’"),
    SIGN("textquotedblleft", "“"),
    SIGN("textquotedblright", "”"),
    SIGN("lq", "‘"),
    SIGN("rq", "’"),
    SIGN("guillemotleft", "«"),
    SIGN("guillemotright", "»"),
    SIGN("og", "«"),
    SIGN("fg", "»"),
    SIGN("guilsinglleft", "‹"),
    SIGN("guilsinglright", "›"),
    SIGN("quotedblbase", "„"),
    SIGN("quotesinglbase", "‚"),
    SIGN("glqq", "„"),
    SIGN("grqq", "“"),
    SIGN("flqq", "«"),
    SIGN("frqq", "»"),
    SIGN("textdegree", "°"),
    SIGN("degree", "°"),
    SIGN("textmu", "µ"),
    SIGN("textohm", "Ω"),
    SIGN("textonehalf", "½"),
    SIGN("textonequarter", "¼"),
    SIGN("textthreequarters", "¾"),
    SIGN("texttimes", "×"),
    SIGN("textdiv", "÷"),
    SIGN("textpm", "±"),
    SIGN("textordfeminine", "ª"),
    SIGN("textordmasculine", "º"),
    SIGN("textexclamdown", "¡"),
    SIGN("textquestiondown", "¿"),
    SIGN("textleftarrow", "←"),
    SIGN("textrightarrow", "→"),
    SIGN("textuparrow", "↑"),
    SIGN("textdownarrow", "↓"),
    SIGN("textasteriskcentered", "∗"),
    SIGN("textperiodcentered", "·"),
    SIGN("textvisiblespace", "␣"),
    SIGN("checkmark", "✓"),
    SIGN("textnumero", "№"),
    SIGN("textlangle", "⟨"),
    SIGN("textrangle", "⟩"),
};

/* The class amsldoc: \latex/ */
static void run_logo(struct tex *tex, const struct command *command,
                     struct token call)
{
    tex_read_character(tex, '/');
    document_put_text(document_of(tex), call, command->text);
}

static const struct command logos[] = {
    {"tex", run_logo, NULL, 0, "TeX"},
    {"latex", run_logo, NULL, 0, "LaTeX"},
    {"bibtex", run_logo, NULL, 0, "BibTeX"},
    {"amstex", run_logo, NULL, 0, "AmS-TeX"},
    {"amslatex", run_logo, NULL, 0, "AmS-LaTeX"},
    {"makeindx", run_logo, NULL, 0, "MakeIndex"},
    {"xypic", run_logo, NULL, 0, "XY-pic"},
};

void text_add_logos(struct document *d)
{
    tex_add_commands(&d->tex, logos, sizeof logos / sizeof *logos,
                     MEANING_COMMAND, false);
}

/* ---- Accents ---- */

static const struct {
    const char *name;
    uint32_t mark;    /* combining */
    const char *sign; /* what it is by itself, as \^{} and \~{} are written */
} accents[] = {
    {"`", 0x300, "`"}, {"'", 0x301, "´"}, {"^", 0x302, "^"}, {"~", 0x303, "~"},
    {"=", 0x304, "¯"}, {"u", 0x306, ""},  {".", 0x307, "˙"}, {"\"", 0x308, "¨"},
    {"r", 0x30A, ""},  {"H", 0x30B, ""},  {"v", 0x30C, ""},  {"d", 0x323, ""},
    {"c", 0x327, ""},  {"k", 0x328, ""},  {"b", 0x331, ""},  {"t", 0x361, ""}};

/* The letter that the accent goes on: one of a command's, as \i, has no dot
 * anyway.  `*ret_bare`: there is nothing. */
static bool read_letter(struct tex *tex, struct buf *ret, bool *ret_bare)
{
    struct tokens list = {0};
    tex_read_argument(tex, &list);
    *ret_bare = true;
    for (size_t i = 0; i < list.count; i++)
        *ret_bare &= list.items[i].cat == CAT_SPACE;
    for (size_t i = 0; i < list.count; i++) {
        struct token token = list.items[i];
        if (token.cat == CAT_LETTER || token.cat == CAT_OTHER)
            text_encode(ret, token.value);
        if (token.cat != CAT_NAME)
            continue;
        struct slice name = tex->symbols[token.value].name;
        const struct meaning *meaning = tex_meaning(tex, token);
        if (slice_is(name, "i") || slice_is(name, "j"))
            buf_put_slice(ret, name);
        else if (meaning->kind == MEANING_COMMAND &&
                 meaning->command->run == run_sign)
            buf_put_text(ret, meaning->command->text);
    }
    tokens_free(&list);
    return ret->size > 0;
}

/* The first letter with the combining mark, and the others. */
static void put_marked(struct slice letters, uint32_t mark, struct buf *ret)
{
    struct buf marked = {0};
    size_t step;
    text_decode(letters.data, letters.size, 0, &step);
    buf_put(&marked, letters.data, step);
    text_encode(&marked, mark);
    utf8proc_uint8_t *composed = NULL;
    utf8proc_ssize_t size = utf8proc_map(
        (const utf8proc_uint8_t *)marked.data, (utf8proc_ssize_t)marked.size,
        &composed, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (size > 0)
        buf_put(ret, composed, (size_t)size);
    buf_put(ret, letters.data + step, letters.size - step);
    free(composed);
    buf_free(&marked);
}

static void run_accent(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf letter = {0}, marked = {0};
    bool bare;
    if (read_letter(tex, &letter, &bare)) {
        put_marked(buf_slice(&letter), accents[command->value].mark, &marked);
        document_put(document_of(tex), call, buf_slice(&marked));
    } else if (bare && *accents[command->value].sign) {
        document_put_text(document_of(tex), call, accents[command->value].sign);
    }
    buf_free(&letter);
    buf_free(&marked);
}

size_t text_put_accent(struct slice text, struct buf *ret)
{
    size_t step = 0;
    if (text.size < 2)
        return 0;
    bool letter = isalpha((unsigned char)text.data[0]); /* "\c c" */
    if (letter && (text.data[1] != ' ' || text.size < 3 ||
                   !isalpha((unsigned char)text.data[2])))
        return 0;
    for (size_t i = 0; i < sizeof accents / sizeof *accents; i++) {
        if (accents[i].name[0] != text.data[0])
            continue;
        /* \i has no dot anyway */
        size_t at = letter || text.data[1] == '\\' ? 2 : 1;
        if (at == text.size)
            return 0;
        text_decode(text.data, text.size, at, &step);
        put_marked((struct slice){text.data + at, step}, accents[i].mark, ret);
        return at + step;
    }
    return 0;
}

static struct command accent_commands[sizeof accents / sizeof *accents];

/* ---- Quantities: siunitx ---- */

static const struct {
    const char *name, *text;
} unit_names[] = {{"metre", "m"},      {"meter", "m"},
                  {"second", "s"},     {"kilogram", "kg"},
                  {"gram", "g"},       {"ampere", "A"},
                  {"kelvin", "K"},     {"mole", "mol"},
                  {"candela", "cd"},   {"hertz", "Hz"},
                  {"newton", "N"},     {"pascal", "Pa"},
                  {"joule", "J"},      {"watt", "W"},
                  {"coulomb", "C"},    {"volt", "V"},
                  {"farad", "F"},      {"ohm", "Ω"},
                  {"siemens", "S"},    {"weber", "Wb"},
                  {"tesla", "T"},      {"henry", "H"},
                  {"celsius", "°C"},   {"degreeCelsius", "°C"},
                  {"lumen", "lm"},     {"lux", "lx"},
                  {"becquerel", "Bq"}, {"gray", "Gy"},
                  {"sievert", "Sv"},   {"radian", "rad"},
                  {"steradian", "sr"}, {"minute", "min"},
                  {"hour", "h"},       {"day", "d"},
                  {"litre", "l"},      {"liter", "L"},
                  {"tonne", "t"},      {"electronvolt", "eV"},
                  {"bar", "bar"},      {"degree", "°"},
                  {"arcminute", "′"},  {"arcsecond", "″"},
                  {"percent", "%"},    {"byte", "B"},
                  {"bit", "bit"},      {"decibel", "dB"},
                  {"angstrom", "Å"},   {"hectare", "ha"},
                  {"dalton", "Da"},    {"kilo", "k"},
                  {"mega", "M"},       {"giga", "G"},
                  {"tera", "T"},       {"peta", "P"},
                  {"milli", "m"},      {"micro", "µ"},
                  {"nano", "n"},       {"pico", "p"},
                  {"femto", "f"},      {"centi", "c"},
                  {"deci", "d"},       {"deca", "da"},
                  {"hecto", "h"},      {"kibi", "Ki"},
                  {"mebi", "Mi"},      {"gibi", "Gi"},
                  {"per", "/"},        {"squared", "²"},
                  {"cubed", "³"},      {"square", ""},
                  {"cubic", ""},       {"m", "m"},
                  {"s", "s"},          {"kg", "kg"},
                  {"cm", "cm"},        {"mm", "mm"},
                  {"km", "km"},        {"Hz", "Hz"},
                  {"kHz", "kHz"},      {"MHz", "MHz"},
                  {"GHz", "GHz"},      {"ms", "ms"},
                  {"us", "µs"},        {"ns", "ns"},
                  {"V", "V"},          {"A", "A"},
                  {"W", "W"},          {"K", "K"},
                  {"N", "N"},          {"J", "J"},
                  {"Pa", "Pa"}};

static const char *unit_of(struct slice name)
{
    for (size_t i = 0; i < sizeof unit_names / sizeof *unit_names; i++)
        if (slice_is(name, unit_names[i].name))
            return unit_names[i].text;
    return NULL;
}

static bool is_prefix(struct slice name)
{
    static const char *const prefixes[] = {
        "kilo",  "mega",  "giga", "tera",  "peta",  "milli",
        "micro", "nano",  "pico", "femto", "centi", "deci",
        "deca",  "hecto", "kibi", "mebi",  "gibi"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (slice_is(name, prefixes[i]))
            return true;
    return false;
}

static void write_unit(struct tex *tex, const struct tokens *list,
                       struct buf *out)
{
    const char *after = NULL; /* \square\metre: the power comes last */
    for (size_t i = 0; i < list->count; i++) {
        struct token token = list->items[i];
        if (token.cat == CAT_SUPER) {
            buf_put_byte(out, '^');
        } else if (token.cat == CAT_OTHER && token.value == '.') {
            buf_put_byte(out, ' ');
        } else if (token.cat != CAT_NAME) {
            if (token.cat != CAT_BEGIN && token.cat != CAT_END)
                tex_write_token(tex, token, out);
        } else {
            struct slice name = tex->symbols[token.value].name;
            const char *text = unit_of(name);
            if (slice_is(name, "square") || slice_is(name, "cubic")) {
                after = slice_is(name, "square") ? "²" : "³";
                continue;
            }
            buf_put_text(out, text ? text : "");
            if (!text)
                buf_put_slice(out, name);
            if (after && !is_prefix(name)) {
                buf_put_text(out, after);
                after = NULL;
            }
        }
    }
}

/* "0.6 \pm 0.2", "1 +- 2": the signs that siunitx prints of them. */
static const struct {
    const char *name, *text;
} number_signs[] = {
    {"\\pm", "±"},  {"\\mp", "∓"},  {"\\times", "×"}, {"\\approx", "≈"},
    {"\\sim", "∼"}, {"\\leq", "≤"}, {"\\geq", "≥"},   {"\\le", "≤"},
    {"\\ge", "≥"},  {"\\ll", "≪"},  {"\\gg", "≫"},    {"+-", "±"},
    {"-+", "∓"},    {"x", "×"},
};

static bool is_letter(char byte)
{
    return (unsigned)((byte | 32) - 'a') < 26;
}

/* An x between two numbers, "3 x 4": else it is a letter of a word, or a variable. */
static bool is_product(struct slice text, size_t at)
{
    size_t from = at, to = at + 1;
    while (from && text.data[from - 1] == ' ')
        from--;
    while (to < text.size && text.data[to] == ' ')
        to++;
    return from && to < text.size &&
           strchr("0123456789.,)", text.data[from - 1]) &&
           strchr("0123456789.,(+-\\", text.data[to]);
}

/* The bytes of the sign that the text has there; 0: none. */
static size_t sign_at(struct slice whole, size_t at, const char **ret_sign)
{
    struct slice text = {whole.data + at, whole.size - at};
    if (*text.data == 'x' && !is_product(whole, at))
        return 0;
    for (size_t i = 0; i < sizeof number_signs / sizeof *number_signs; i++) {
        size_t size = strlen(number_signs[i].name);
        if (text.size < size || memcmp(text.data, number_signs[i].name, size) ||
            (text.size > size && is_letter(text.data[size])))
            continue;
        *ret_sign = number_signs[i].text;
        return size;
    }
    return 0;
}

/* A sign between two numbers has spaces around it, one before a number has none. */
static void write_number(struct slice text, struct buf *out)
{
    size_t from = out->size;
    const char *sign;
    for (size_t at = 0, size; at < text.size; at += size) {
        size = sign_at(text, at, &sign);
        if (!size) {
            buf_put_byte(out, text.data[at]);
            size = 1;
            continue;
        }
        while (at + size < text.size && text.data[at + size] == ' ')
            size++;
        while (out->size > from && out->data[out->size - 1] == ' ')
            out->size--;
        bool between = out->size > from;
        buf_put_text(out, between ? " " : "");
        buf_put_text(out, sign);
        buf_put_text(out, between ? " " : "");
    }
}

static void read_number(struct tex *tex, struct buf *out)
{
    struct buf text = {0};
    tex_read_text(tex, &text);
    write_number(buf_slice(&text), out);
    buf_free(&text);
}

enum {
    QUANTITY_NUMBER = 1,
    QUANTITY_UNIT = 2,
    QUANTITY_ANGLE = 4,
    QUANTITY_RANGE = 8
};

static void run_quantity(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct document *d = document_of(tex);
    struct tokens list = {0};
    struct buf text = {0};
    tex_skip_before(tex, "o");
    if (command->value & QUANTITY_NUMBER)
        read_number(tex, &text);
    if (command->value & QUANTITY_RANGE) {
        buf_put_text(&text, " to ");
        read_number(tex, &text);
    }
    if (command->value & QUANTITY_ANGLE)
        buf_put_text(&text, "°");
    if (command->value & QUANTITY_UNIT) {
        tex_skip_before(tex, "o");
        tex_read_argument(tex, &list);
        if (text.size)
            buf_put_byte(&text, ' ');
        write_unit(tex, &list, &text);
    }
    document_put(d, call, buf_slice(&text));
    tokens_free(&list);
    buf_free(&text);
}

static const struct command quantities[] = {
    {"SI", run_quantity, NULL, QUANTITY_NUMBER | QUANTITY_UNIT, NULL},
    {"qty", run_quantity, NULL, QUANTITY_NUMBER | QUANTITY_UNIT, NULL},
    {"si", run_quantity, NULL, QUANTITY_UNIT, NULL},
    {"unit", run_quantity, NULL, QUANTITY_UNIT, NULL},
    {"num", run_quantity, NULL, QUANTITY_NUMBER, NULL},
    {"ang", run_quantity, NULL, QUANTITY_NUMBER | QUANTITY_ANGLE, NULL},
    {"SIrange", run_quantity, NULL,
     QUANTITY_NUMBER | QUANTITY_RANGE | QUANTITY_UNIT, NULL},
    {"qtyrange", run_quantity, NULL,
     QUANTITY_NUMBER | QUANTITY_RANGE | QUANTITY_UNIT, NULL},
    {"numrange", run_quantity, NULL, QUANTITY_NUMBER | QUANTITY_RANGE, NULL},
};

void text_add(struct document *d)
{
    size_t count = sizeof accents / sizeof *accents;
    for (size_t i = 0; i < count; i++)
        accent_commands[i] =
            (struct command){accents[i].name, run_accent, NULL, (int)i, NULL};
    tex_add_commands(&d->tex, accent_commands, count, MEANING_COMMAND, false);
    tex_add_commands(&d->tex, names_of_tex,
                     sizeof names_of_tex / sizeof *names_of_tex,
                     MEANING_COMMAND, true);
    tex_add_commands(&d->tex, signs, sizeof signs / sizeof *signs,
                     MEANING_COMMAND, false);
    tex_add_commands(&d->tex, quantities,
                     sizeof quantities / sizeof *quantities, MEANING_COMMAND,
                     false);
}
