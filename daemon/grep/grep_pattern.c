#define PCRE2_CODE_UNIT_WIDTH 8

#include "daemon/grep/grep_pattern.h"

#include <pcre2.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
    MAX_PATTERN = 4096,  /* bytes */
    MAX_NESTING = 64,    /* parentheses */
    MAX_STEPS = 1000000, /* of one match: tens of milliseconds */
    MAX_HEAP = 16 << 10, /* KiB, where the pattern is interpreted */
    FIRST_STACK = 32 << 10,
    MAX_STACK = 1 << 20
};

struct grep_pattern {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
    bool compiled; /* to instructions */
};

/* Texts of other encodings were converted when they were read; what is no UTF-8
 * all the same does not match. */
static const uint32_t flags = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE |
                              PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;

static int refuse(struct slice source, int number, size_t at, struct err *err)
{
    PCRE2_UCHAR text[200];
    pcre2_get_error_message(number, text, sizeof text);
    int code =
        err_set(err, ERR_USAGE,
                "the pattern is no regular expression: %s, at byte %zu "
                "of '%.*s'",
                (const char *)text, at,
                (int)(source.size < 200 ? source.size : 200), source.data);
    if (err)
        err->position = (int64_t)at;
    return code;
}

static int compile(struct slice source, bool ignore_case, pcre2_code **ret,
                   struct err *err)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    int number;
    PCRE2_SIZE at;
    if (!context)
        return err_set(err, ERR_LIMIT, "no memory for a pattern");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, MAX_NESTING);
    *ret = pcre2_compile((PCRE2_SPTR)source.data, source.size,
                         flags | (ignore_case ? PCRE2_CASELESS : 0), &number,
                         &at, context);
    pcre2_compile_context_free(context);
    return *ret ? 0 : refuse(source, number, at, err);
}

/* Matching goes on without what cannot be had: by interpreting. */
static void prepare(struct grep_pattern *pattern)
{
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (!pattern->match || !pattern->context)
        return;
    pcre2_set_match_limit(pattern->context, MAX_STEPS);
    pcre2_set_depth_limit(pattern->context, MAX_STEPS);
    pcre2_set_heap_limit(pattern->context, MAX_HEAP);
    pattern->compiled = !pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    if (pattern->compiled)
        pattern->stack = pcre2_jit_stack_create(FIRST_STACK, MAX_STACK, NULL);
    if (pattern->stack)
        pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
}

int grep_pattern_compile(struct slice source, bool ignore_case,
                         struct grep_pattern **ret_pattern, struct err *err)
{
    pcre2_code *code_made;
    if (!source.size)
        return err_set(err, ERR_USAGE, "the pattern is empty");
    if (source.size > MAX_PATTERN)
        return err_set(err, ERR_LIMIT, "the pattern has more than %d bytes",
                       MAX_PATTERN);
    int code = compile(source, ignore_case, &code_made, err);
    if (code)
        return code;
    struct grep_pattern *pattern = mem_alloc(sizeof *pattern);
    pattern->code = code_made;
    prepare(pattern);
    if (!pattern->match || !pattern->context) {
        grep_pattern_free(pattern);
        return err_set(err, ERR_LIMIT, "no memory for a pattern");
    }
    *ret_pattern = pattern;
    return 0;
}

void grep_pattern_free(struct grep_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_data_free(pattern->match);
    pcre2_match_context_free(pattern->context);
    pcre2_jit_stack_free(pattern->stack);
    free(pattern);
}

/* Where instructions have too little stack, the interpreter has the heap. */
static int match(struct grep_pattern *pattern, struct slice text, size_t from)
{
    PCRE2_SPTR data = (PCRE2_SPTR)text.data;
    int count = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pattern->compiled)
        count = pcre2_match(pattern->code, data, text.size, from,
                            PCRE2_NOTEMPTY, pattern->match, pattern->context);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT)
        count = pcre2_match(pattern->code, data, text.size, from,
                            PCRE2_NOTEMPTY | PCRE2_NO_JIT, pattern->match,
                            pattern->context);
    return count;
}

enum grep_found grep_pattern_next(struct grep_pattern *pattern,
                                  struct slice text, size_t from,
                                  size_t *ret_start, size_t *ret_end)
{
    int count = match(pattern, text, from);
    if (count == PCRE2_ERROR_NOMATCH)
        return GREP_NONE;
    if (count < 0)
        return GREP_GIVEN_UP;
    PCRE2_SIZE *range = pcre2_get_ovector_pointer(pattern->match);
    if (range[0] < from || range[1] <= range[0]) /* \K has turned it around */
        return GREP_NONE;
    *ret_start = range[0];
    *ret_end = range[1];
    return GREP_FOUND;
}
