/* Values as text: Python's str and repr, and JSON. */
#include <math.h>
#include <utf8proc.h>

#include "base/text.h"
#include "model/chat/template_run_internal.h"

static void put(struct run *run, struct buf *out, const char *text)
{
    run_put(run, out, slice_of(text));
}

/* The shortest digits that read as the number, in repr's notation. */
void format_float(char *text, size_t size, double number)
{
    char digits[32];
    int precision = 0;
    if (!isfinite(number)) {
        snprintf(text, size, "%s",
                 isnan(number) ? "nan"
                 : number < 0  ? "-inf"
                               : "inf");
        return;
    }
    do
        snprintf(digits, sizeof digits, "%.*e", precision++, number);
    while (strtod(digits, NULL) != number);
    int exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 16) {
        snprintf(text, size, "%s", digits);
        return;
    }
    int decimals = precision - 1 - exponent;
    snprintf(text, size, "%.*f", decimals > 1 ? decimals : 1, number);
}

/* ---- repr ---- */

static bool is_printable(uint32_t code)
{
    switch (utf8proc_category((utf8proc_int32_t)code)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return false;
    case UTF8PROC_CATEGORY_ZS: return code == ' ';
    default: return true;
    }
}

static void put_repr_character(struct run *run, struct buf *out, char quote,
                               uint32_t code, struct slice character)
{
    char text[16] = "";
    if (code == (uint32_t)quote || code == '\\')
        snprintf(text, sizeof text, "\\%c", (char)code);
    else if (code == '\n' || code == '\r' || code == '\t')
        snprintf(text, sizeof text, "\\%c",
                 code == '\n'   ? 'n'
                 : code == '\r' ? 'r'
                                : 't');
    else if (!is_printable(code))
        snprintf(text, sizeof text,
                 code < 0x100     ? "\\x%02x"
                 : code < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                 (unsigned)code);
    run_put(run, out, text[0] ? slice_of(text) : character);
}

static void put_repr_string(struct run *run, struct buf *out, struct slice text)
{
    bool single = text.size && memchr(text.data, '\'', text.size);
    bool both = single && memchr(text.data, '"', text.size);
    char quote = single && !both ? '"' : '\'';
    buf_put_byte(out, quote);
    run_charge(run, text.size / 16);
    for (size_t at = 0, size; at < text.size && !run->failed; at += size) {
        uint32_t code = text_decode(text.data, text.size, at, &size);
        put_repr_character(run, out, quote, code,
                           (struct slice){text.data + at, size});
    }
    buf_put_byte(out, quote);
}

static void put_repr_list(struct run *run, struct buf *out, struct value value)
{
    bool tuple = value.kind == VALUE_TUPLE;
    put(run, out, tuple ? "(" : "[");
    for (size_t i = 0; i < value.list->count && !run->failed; i++) {
        if (i)
            put(run, out, ", ");
        value_print_repr(run, out, value.list->items[i]);
    }
    if (tuple && value.list->count == 1)
        put(run, out, ",");
    put(run, out, tuple ? ")" : "]");
}

static void put_repr_dict(struct run *run, struct buf *out,
                          const struct dict *dict)
{
    put(run, out, "{");
    for (size_t i = 0; i < dict->count && !run->failed; i++) {
        if (i)
            put(run, out, ", ");
        value_print_repr(run, out, dict->pairs[i].key);
        put(run, out, ": ");
        value_print_repr(run, out, dict->pairs[i].value);
    }
    put(run, out, "}");
}

static void put_number(struct run *run, struct buf *out, struct value value)
{
    char text[40];
    if (value.kind == VALUE_FLOAT)
        format_float(text, sizeof text, value.number);
    else
        snprintf(text, sizeof text, "%lld", (long long)value.integer);
    put(run, out, text);
}

static void print_repr(struct run *run, struct buf *out, struct value value)
{
    switch (value.kind) {
    case VALUE_UNDEFINED: put(run, out, "Undefined"); break;
    case VALUE_NONE: put(run, out, "None"); break;
    case VALUE_BOOLEAN: put(run, out, value.boolean ? "True" : "False"); break;
    case VALUE_INTEGER:
    case VALUE_FLOAT: put_number(run, out, value); break;
    case VALUE_STRING:
        if (value.safe)
            run_refuse(run, "printing a safe string within another value");
        put_repr_string(run, out, value.string);
        break;
    case VALUE_LIST:
    case VALUE_TUPLE: put_repr_list(run, out, value); break;
    case VALUE_DICT: put_repr_dict(run, out, value.dict); break;
    default: run_refuse(run, "printing %s", value_type(value));
    }
}

void value_print_repr(struct run *run, struct buf *out, struct value value)
{
    if (run_enter(run))
        print_repr(run, out, value);
    run_leave(run);
}

void value_print(struct run *run, struct buf *out, struct value value)
{
    if (value.kind == VALUE_STRING)
        run_put(run, out, value.string);
    else if (value.kind != VALUE_UNDEFINED)
        value_print_repr(run, out, value);
}

struct slice value_to_string(struct run *run, struct value value)
{
    struct buf text = {0};
    if (value.kind == VALUE_STRING)
        return value.string;
    value_print(run, &text, value);
    return run_take(run, &text);
}

/* ---- JSON ---- */

struct json_printer {
    struct run *run;
    struct buf *out;
    int indent; /* below 0: all in one line */
    int depth;
};

static void print_json(struct json_printer *printer, struct value value);

static void put_json_string(struct json_printer *printer, struct slice text)
{
    static const char letters[] = "\b\f\n\r\t\"\\", escapes[] = "bfnrt\"\\";
    put(printer->run, printer->out, "\"");
    run_charge(printer->run, text.size / 16);
    for (size_t at = 0; at < text.size && !printer->run->failed; at++) {
        char c = text.data[at], escape[8] = {c};
        const char *letter = c ? strchr(letters, c) : NULL;
        if (letter)
            snprintf(escape, sizeof escape, "\\%c", escapes[letter - letters]);
        else if ((unsigned char)c < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)c);
        put(printer->run, printer->out, escape);
    }
    put(printer->run, printer->out, "\"");
}

static void json_break(struct json_printer *printer)
{
    if (printer->indent < 0)
        return;
    put(printer->run, printer->out, "\n");
    for (int i = 0; i < printer->depth && !printer->run->failed; i++)
        for (int j = 0; j < printer->indent; j++)
            put(printer->run, printer->out, " ");
}

static void json_comma(struct json_printer *printer, size_t index)
{
    if (index)
        put(printer->run, printer->out, printer->indent < 0 ? ", " : ",");
    json_break(printer);
}

static void print_json_list(struct json_printer *printer,
                            const struct list *list)
{
    put(printer->run, printer->out, "[");
    printer->depth++;
    for (size_t i = 0; i < list->count && !printer->run->failed; i++) {
        json_comma(printer, i);
        print_json(printer, list->items[i]);
    }
    printer->depth--;
    if (list->count)
        json_break(printer);
    put(printer->run, printer->out, "]");
}

static void print_json_key(struct json_printer *printer, struct value key)
{
    bool scalar = key.kind >= VALUE_NONE && key.kind <= VALUE_FLOAT;
    if (key.kind == VALUE_STRING) {
        put_json_string(printer, key.string);
    } else if (scalar) {
        put(printer->run, printer->out, "\"");
        print_json(printer, key);
        put(printer->run, printer->out, "\"");
    } else {
        run_fail(printer->run, ERR_FORMAT, "%s is no key in JSON",
                 value_type(key));
    }
    put(printer->run, printer->out, ": ");
}

static void print_json_dict(struct json_printer *printer,
                            const struct dict *dict)
{
    put(printer->run, printer->out, "{");
    printer->depth++;
    for (size_t i = 0; i < dict->count && !printer->run->failed; i++) {
        json_comma(printer, i);
        print_json_key(printer, dict->pairs[i].key);
        print_json(printer, dict->pairs[i].value);
    }
    printer->depth--;
    if (dict->count)
        json_break(printer);
    put(printer->run, printer->out, "}");
}

static void print_json_float(struct json_printer *printer, double number)
{
    const char *word = isnan(number) ? "NaN"
                       : number < 0  ? "-Infinity"
                                     : "Infinity";
    if (isfinite(number))
        put_number(printer->run, printer->out, value_float(number));
    else
        put(printer->run, printer->out, word);
}

static void print_json_value(struct json_printer *printer, struct value value)
{
    struct run *run = printer->run;
    switch (value.kind) {
    case VALUE_NONE: put(run, printer->out, "null"); break;
    case VALUE_BOOLEAN:
        put(run, printer->out, value.boolean ? "true" : "false");
        break;
    case VALUE_INTEGER: put_number(run, printer->out, value); break;
    case VALUE_FLOAT: print_json_float(printer, value.number); break;
    case VALUE_STRING: put_json_string(printer, value.string); break;
    case VALUE_LIST:
    case VALUE_TUPLE: print_json_list(printer, value.list); break;
    case VALUE_DICT: print_json_dict(printer, value.dict); break;
    default: run_fail(run, ERR_FORMAT, "%s is not JSON", value_type(value));
    }
}

static void print_json(struct json_printer *printer, struct value value)
{
    if (run_enter(printer->run))
        print_json_value(printer, value);
    run_leave(printer->run);
}

void value_print_json(struct run *run, struct buf *out, struct value value,
                      int indent)
{
    struct json_printer printer = {run, out, indent, 0};
    print_json(&printer, value);
}
