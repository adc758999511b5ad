#include "model/tokenizer/normalise.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/tokenizer/combining.h"
#include "model/tokenizer/old_unicode.h"
#include "model/tokenizer/utf8.h"

/* A short text may grow by more: something is put before it. */
enum { SLACK = NORMAL_MAX_STEPS * NORMAL_MAX_CONTENT };

void normaliser_free(struct normaliser *n)
{
    for (size_t i = 0; i < n->count; i++) {
        pattern_free(n->steps[i].pattern);
        charsmap_free(n->steps[i].charsmap);
        buf_free(&n->steps[i].content);
    }
    n->count = 0;
}

/* Steps keep an eye on how many bytes stem from the text's first character: the
 * head.  What is left when they are gone starts later in the text. */

static size_t first_size(const struct buf *text)
{
    size_t step = 0;
    if (text->size)
        text_decode(text->data, text->size, 0, &step);
    return step;
}

/* ---- Normal forms ---- */

/* No normal form changes ASCII, and NFC no character below U+0300, whose
 * first byte is 0xCC. */
static bool is_normal(struct slice text, int options)
{
    bool nfc = options == (UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    unsigned char limit = nfc ? 0xCC : 0x80;
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] >= limit)
            return false;
    return true;
}

static int put_ordered(int options, struct slice text, struct buf *out,
                       struct err *err)
{
    utf8proc_uint8_t *made;
    utf8proc_ssize_t size = utf8proc_map((const utf8proc_uint8_t *)text.data,
                                         (utf8proc_ssize_t)text.size, &made,
                                         (utf8proc_option_t)options);
    if (size < 0)
        return err_set(err, ERR_LIMIT, "cannot normalise a text: %s",
                       utf8proc_errmsg(size));
    buf_put(out, made, (size_t)size);
    free(made);
    return 0;
}

static int put_known(int options, struct slice text, struct buf *out,
                     struct err *err)
{
    struct buf ordered = {0};
    if (!text.size)
        return 0;
    if (!combining_is_long(text, options))
        return put_ordered(options, text, out, err);
    combining_put(&ordered, text, options);
    int code = put_ordered(options, buf_slice(&ordered), out, err);
    buf_free(&ordered);
    return code;
}

/* Text without inert characters.  Nothing that a form does reaches over a character of
 * ASCII: what is not ASCII is handed on with the one before it, which it may be made
 * one with. */
static int put_spans(int options, struct slice text, struct buf *out,
                     struct err *err)
{
    int code = 0;
    for (size_t at = 0, end; at < text.size && !code; at = end) {
        size_t run = text_ascii_run(text.data, text.size, at);
        end = at + run;
        while (end < text.size && ((unsigned char)text.data[end] & 0x80))
            end++;
        size_t plain = end > at + run && run ? run - 1 : run;
        buf_put(out, text.data + at, plain);
        at += plain;
        code = put_known(options, (struct slice){text.data + at, end - at}, out,
                         err);
    }
    return code;
}

/* Inert characters part what is normalised: nothing moves over them.  (The
 * first of them is U+07FD, whose first byte is 0xDF.) */
static int put_form(int options, struct slice text, struct buf *out,
                    struct err *err)
{
    size_t from = 0, step;
    int code = 0;
    for (size_t at = 0; at < text.size && !code; at += step) {
        step = 1;
        if ((unsigned char)text.data[at] < 0xDF ||
            !old_unicode_inert(text_decode(text.data, text.size, at, &step)))
            continue;
        code = put_spans(options, (struct slice){text.data + from, at - from},
                         out, err);
        buf_put(out, text.data + at, step);
        from = at + step;
    }
    if (code)
        return code;
    return put_spans(
        options, (struct slice){text.data + from, text.size - from}, out, err);
}

/* The whole characters with which both begin. */
static size_t common_start(const struct buf *a, const struct buf *b)
{
    size_t at = 0, step;
    while (at < a->size && at < b->size) {
        text_decode(a->data, a->size, at, &step);
        if (step > b->size - at || memcmp(a->data + at, b->data + at, step))
            break;
        at += step;
    }
    return at;
}

/* The head is what it would be alone, where the text begins so, and one
 * character at least: that may be made with what follows. */
static int to_form(int options, struct buf *text, size_t *head, struct err *err)
{
    struct buf alone = {0}, made = {0};
    int code = 0;
    if (is_normal(buf_slice(text), options))
        return 0;
    if (*head)
        code =
            put_form(options, (struct slice){text->data, *head}, &alone, err);
    if (!code)
        code = put_form(options, buf_slice(text), &made, err);
    if (!code) {
        buf_put(&made, "", 0);
        buf_free(text);
        *text = made;
        made = (struct buf){0};
    }
    if (!code && *head) {
        size_t same = common_start(&alone, text);
        *head = same ? same : first_size(text);
    }
    buf_free(&alone);
    buf_free(&made);
    return code;
}

/* ---- Character by character ---- */

static utf8proc_category_t category(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c);
}

static bool is_white(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static void put_lower(struct buf *out, uint32_t c)
{
    if (c == 0x130) /* the only one that becomes two */
        buf_put_text(out, "i\xCC\x87");
    else
        text_encode(out, new_unicode_lower(
                             (uint32_t)utf8proc_tolower((utf8proc_int32_t)c)));
}

static void put_without_marks(struct buf *out, uint32_t c)
{
    utf8proc_category_t k = c < 0x300 ? UTF8PROC_CATEGORY_CN : category(c);
    bool mark = k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC ||
                k == UTF8PROC_CATEGORY_ME;
    if (!mark || old_unicode_lacks(c))
        text_encode(out, c);
}

static void put_without_accents(struct buf *out, uint32_t c)
{
    bool mark = c >= 0x300 && (category(c) == UTF8PROC_CATEGORY_MN ||
                               c == 0x1734); /* was one */
    if (!mark || old_unicode_lacks(c))
        text_encode(out, c);
}

static void put_clean(struct buf *out, uint32_t c)
{
    utf8proc_category_t k = category(c);
    if (c == '\t' || c == '\n' || c == '\r') {
        buf_put_byte(out, ' ');
        return;
    }
    if (c == 0xFFFD || k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CO ||
        (k == UTF8PROC_CATEGORY_CF && !old_unicode_lacks(c)))
        return;
    text_encode(out, is_white(c) ? ' ' : c);
}

/* The blocks that BERT's authors named; 2B920 is as they wrote it. */
static bool is_ideograph(uint32_t c)
{
    return (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
           (c >= 0x2F800 && c <= 0x2FA1F);
}

static void put_parted(struct buf *out, uint32_t c)
{
    bool part = is_ideograph(c);
    if (part)
        buf_put_byte(out, ' ');
    text_encode(out, c);
    if (part)
        buf_put_byte(out, ' ');
}

static void put_nmt(struct buf *out, uint32_t c)
{
    bool gone = (c >= 0x01 && c <= 0x08) || c == 0x0B ||
                (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D ||
                 c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
                 c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    if (!gone)
        text_encode(out, space ? ' ' : c);
}

typedef void put_character(struct buf *out, uint32_t c);

static put_character *const puts_of[] = {
    [NORMAL_LOWERCASE] = put_lower,
    [NORMAL_STRIP_MARKS] = put_without_marks,
    [NORMAL_STRIP_ACCENTS] = put_without_accents,
    [NORMAL_CLEAN] = put_clean,
    [NORMAL_PART_CJK] = put_parted,
    [NORMAL_NMT] = put_nmt,
    [NORMAL_CHARSMAP] = NULL,
};

/* What the step makes of each character of ASCII, which is one at most. */
static void look_up_ascii(struct normal_step *step)
{
    struct buf out = {0};
    for (uint32_t c = 0; c < sizeof step->ascii && puts_of[step->kind]; c++) {
        puts_of[step->kind](&out, c);
        step->ascii[c] =
            out.size ? (unsigned char)out.data[0] : (unsigned char)NORMAL_GONE;
        buf_clear(&out);
    }
    buf_free(&out);
}

int normaliser_add(struct normaliser *n, int kind, struct normal_step **ret,
                   struct err *err)
{
    if (n->count == NORMAL_MAX_STEPS)
        return err_set(err, ERR_LIMIT, "too many normalizers");
    *ret = &n->steps[n->count++];
    **ret = (struct normal_step){.kind = kind};
    look_up_ascii(*ret);
    return 0;
}

/* `to` may be where `from` is, or before it.  Returns how many are left. */
static size_t map_ascii(const struct normal_step *step, const char *from,
                        size_t size, char *to)
{
    size_t made = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = step->ascii[(unsigned char)from[i]];
        to[made] = (char)c;
        made += c != NORMAL_GONE;
    }
    return made;
}

static void in_place(const struct normal_step *step, struct buf *text,
                     size_t *head)
{
    size_t rest = text->size - *head;
    size_t made = map_ascii(step, text->data, *head, text->data);
    text->size =
        made + map_ascii(step, text->data + *head, rest, text->data + made);
    text->data[text->size] = '\0';
    *head = made;
}

static void each_character(const struct normal_step *step, struct buf *text,
                           size_t *head)
{
    struct buf out = {0};
    size_t made = 0, size = text_ascii_run(text->data, text->size, 0);
    if (size == text->size) {
        in_place(step, text, head);
        return;
    }
    buf_reserve(&out, text->size + 1);
    for (size_t at = 0; at < text->size; at += size) {
        size = text_ascii_run(text->data, text->size, at);
        if (at < *head && at + size > *head)
            size = *head - at;
        buf_reserve(&out, size);
        out.size += map_ascii(step, text->data + at, size, out.data + out.size);
        if (!size)
            puts_of[step->kind](&out,
                                text_decode(text->data, text->size, at, &size));
        if (at < *head)
            made = out.size;
    }
    *head = made;
    buf_put(&out, "", 0);
    buf_free(text);
    *text = out;
}

static void strip(const struct normal_step *step, struct buf *text,
                  size_t *head)
{
    size_t from = 0, to = text->size, space;
    while (step->left && from < to &&
           (space = text_space(text->data, to, from)) > 0)
        from += space;
    while (step->right && to > from) {
        size_t last = from + text_begin(text->data + from, to - 1 - from);
        if (!text_space(text->data, to, last))
            break;
        to = last;
    }
    memmove(text->data, text->data + from, to - from);
    text->size = to - from;
    text->data[text->size] = '\0';
    *head -= from < *head ? from : *head;
    if (*head > text->size)
        *head = text->size;
}

/* ---- With content ---- */

static void prepend(const struct normal_step *step, struct buf *text,
                    size_t *head)
{
    struct buf out = {0};
    *head += *head ? step->content.size : 0;
    buf_put_slice(&out, buf_slice(&step->content));
    buf_put_slice(&out, buf_slice(text));
    buf_free(text);
    *text = out;
}

/* Where the last character before `end` starts. */
static size_t last_before(struct slice text, size_t end)
{
    return end ? text_begin(text.data, end - 1) : 0;
}

static size_t after_character(struct slice text, size_t at)
{
    size_t step = 1;
    if (at < text.size)
        text_decode(text.data, text.size, at, &step);
    return at + step;
}

/* What comes for a match stems from where the match's last character does, or the one
 * before an empty match.  That is one but where another match ended. */
static int replace(const struct normal_step *step, struct buf *text,
                   size_t *head, struct err *err)
{
    struct pattern_scan *scan = pattern_scan_new(step->pattern);
    struct slice in = buf_slice(text);
    struct buf out = {0};
    size_t at = 0, done = 0, last = SIZE_MAX, start, end, made = 0;
    int found = 0;
    while (at <= in.size &&
           (found = pattern_next(scan, in, at, &start, &end, err)) > 0) {
        if (start == end && end == last) {
            at = after_character(in, at);
            continue;
        }
        if (done < *head)
            made = out.size + (start < *head ? start : *head) - done;
        buf_put(&out, in.data + done, start - done);
        buf_put_slice(&out, buf_slice(&step->content));
        if (last_before(in, end) < *head)
            made = out.size;
        at = done = last = end;
    }
    if (done < *head)
        made = out.size + *head - done;
    *head = made;
    pattern_scan_free(scan);
    buf_put(&out, in.data + done, in.size - done);
    buf_free(text);
    *text = out;
    return found < 0 ? found : 0;
}

/* Of a grapheme of less than six bytes all together, else character by
 * character, as the reference has it. */
static void map_grapheme(const struct charsmap *map, struct slice part,
                         struct buf *out)
{
    struct slice made;
    if (part.size < 6 && charsmap_find(map, part, &made)) {
        buf_put_slice(out, made);
        return;
    }
    for (size_t at = 0, step; at < part.size; at += step) {
        text_decode(part.data, part.size, at, &step);
        struct slice one = {part.data + at, step};
        buf_put_slice(out, charsmap_find(map, one, &made) ? made : one);
    }
}

/* Code points that are not assigned and, by default, not to be seen, part
 * graphemes as controls do; utf8proc takes them for letters. */
static bool is_unseen(uint32_t c)
{
    return c == 0x2065 || (c >= 0xFFF0 && c <= 0xFFF8) || c == 0xE0000 ||
           (c >= 0xE0002 && c <= 0xE001F) || (c >= 0xE0080 && c <= 0xE00FF) ||
           (c >= 0xE01F0 && c <= 0xE0FFF);
}

static bool parts(uint32_t before, uint32_t c, utf8proc_int32_t *state)
{
    bool part = utf8proc_grapheme_break_stateful((utf8proc_int32_t)before,
                                                 (utf8proc_int32_t)c, state);
    if (!is_unseen(before) && !is_unseen(c))
        return part;
    *state = 0;
    return true;
}

static void map_all(const struct charsmap *map, struct buf *text, size_t *head)
{
    struct buf out = {0};
    size_t made = 0;
    utf8proc_int32_t state = 0;
    size_t from = 0;
    uint32_t before = 0;
    for (size_t at = 0, step; at < text->size; at += step) {
        uint32_t c = text_decode(text->data, text->size, at, &step);
        if (at && parts(before, c, &state)) {
            map_grapheme(map, (struct slice){text->data + from, at - from},
                         &out);
            if (from < *head)
                made = out.size;
            from = at;
        }
        before = c;
    }
    if (from < text->size)
        map_grapheme(map, (struct slice){text->data + from, text->size - from},
                     &out);
    *head = from < *head ? out.size : made;
    buf_free(text);
    utf8_repair(text, buf_slice(&out)); /* the map may be damaged */
    buf_free(&out);
}

static int run_step(const struct normal_step *step, struct buf *text,
                    size_t *head, struct err *err)
{
    int code = 0;
    switch (step->kind) {
    case NORMAL_FORM: return to_form(step->form, text, head, err);
    case NORMAL_STRIP_ACCENTS:
        code = to_form(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE, text, head, err);
        if (!code)
            each_character(step, text, head);
        break;
    case NORMAL_STRIP: strip(step, text, head); break;
    case NORMAL_PREPEND: prepend(step, text, head); break;
    case NORMAL_REPLACE: return replace(step, text, head, err);
    case NORMAL_CHARSMAP: map_all(step->charsmap, text, head); break;
    default: each_character(step, text, head); break;
    }
    return code;
}

static int run(const struct normaliser *n, struct buf *text, bool goes_on,
               bool *ret_cut, struct err *err)
{
    size_t max = text->size * NORMAL_MAX_GROWTH + SLACK;
    size_t head = first_size(text);
    int code = 0;
    for (size_t i = 0; i < n->count && !code && text->size; i++) {
        if (goes_on && n->steps[i].kind == NORMAL_PREPEND)
            continue;
        code = run_step(&n->steps[i], text, &head, err);
        if (!code && text->size > max)
            code = err_set(err, ERR_LIMIT,
                           "the normalizer makes a text more than %d times as "
                           "long",
                           NORMAL_MAX_GROWTH);
    }
    if (ret_cut)
        *ret_cut = !head;
    return code;
}

int normaliser_run(const struct normaliser *n, struct buf *text, bool *ret_cut,
                   struct err *err)
{
    return run(n, text, false, ret_cut, err);
}

int normaliser_run_on(const struct normaliser *n, struct buf *text,
                      bool *ret_cut, struct err *err)
{
    return run(n, text, true, ret_cut, err);
}
