/* The normaliser and the pre-tokenizer of a tokenizer.json. */
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "model/json_members.h"
#include "model/tokenizer/old_unicode.h"
#include "model/tokenizer/tokenizer_internal.h"

const char tokenizer_gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
                              " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static const char MARK[] = "\xE2\x96\x81";

/* ---- The normaliser ---- */

static int add_normal(struct tokenizer *t, int kind, struct err *err)
{
    struct normal_step *step;
    return normaliser_add(&t->normaliser, kind, &step, err);
}

/* In the reference's order. */
static int take_bert(struct tokenizer *t, const cJSON *item, struct err *err)
{
    bool lower = json_get_bool(item, "lowercase", true);
    const struct {
        bool on;
        int kind;
    } steps[] = {
        {json_get_bool(item, "clean_text", true), NORMAL_CLEAN},
        {json_get_bool(item, "handle_chinese_chars", true), NORMAL_PART_CJK},
        {json_get_bool(item, "strip_accents", lower), NORMAL_STRIP_ACCENTS},
        {lower, NORMAL_LOWERCASE},
    };
    int code = 0;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !code; i++)
        if (steps[i].on)
            code = add_normal(t, steps[i].kind, err);
    return code;
}

static int take_form(struct tokenizer *t, int form, struct err *err)
{
    struct normal_step *step;
    int code = normaliser_add(&t->normaliser, NORMAL_FORM, &step, err);
    if (!code)
        step->form = form;
    return code;
}

static int take_strip(struct tokenizer *t, const cJSON *item, struct err *err)
{
    struct normal_step *step;
    int code = normaliser_add(&t->normaliser, NORMAL_STRIP, &step, err);
    if (code)
        return code;
    step->left = json_get_bool(item, "strip_left", true);
    step->right = json_get_bool(item, "strip_right", true);
    return 0;
}

/* What a step puts into the text. */
static int take_content(const cJSON *item, const char *name,
                        struct normal_step *step, struct err *err)
{
    const char *content = json_get_text(item, name, "");
    if (strlen(content) > NORMAL_MAX_CONTENT)
        return err_set(err, ERR_LIMIT,
                       "a normalizer's \"%s\" has more than %d bytes", name,
                       NORMAL_MAX_CONTENT);
    buf_put_text(&step->content, content);
    return 0;
}

static int take_prepend(struct tokenizer *t, const cJSON *item, struct err *err)
{
    struct normal_step *step;
    int code = normaliser_add(&t->normaliser, NORMAL_PREPEND, &step, err);
    return code ? code : take_content(item, "prepend", step, err);
}

/* {"String": "..."} or {"Regex": "..."} */
static int take_pattern(const cJSON *item, const char *part,
                        struct pattern **ret, struct err *err)
{
    const cJSON *pattern = member_find(item, "pattern");
    const char *regex = json_get_text(pattern, "Regex", NULL);
    const char *text = json_get_text(pattern, "String", NULL);
    if (!regex && !text)
        return err_set(err, ERR_FORMAT, "the %s has no pattern", part);
    return pattern_compile(slice_of(regex ? regex : text), !regex, ret, err);
}

static int take_replace(struct tokenizer *t, const cJSON *item, struct err *err)
{
    struct normal_step *step;
    int code = normaliser_add(&t->normaliser, NORMAL_REPLACE, &step, err);
    if (!code)
        code = take_pattern(item, "normalizer Replace", &step->pattern, err);
    return code ? code : take_content(item, "content", step, err);
}

static int take_charsmap(struct tokenizer *t, const cJSON *item,
                         struct err *err)
{
    struct normal_step *step;
    const char *map = json_get_text(item, "precompiled_charsmap", "");
    int code = 0;
    if (!map[0]) /* nothing is mapped */
        return 0;
    code = normaliser_add(&t->normaliser, NORMAL_CHARSMAP, &step, err);
    return code ? code : charsmap_from(slice_of(map), &step->charsmap, err);
}

static int take_normaliser(void *context, const cJSON *item, const char *type,
                           struct err *err)
{
    static const struct {
        const char *name;
        int options;
    } forms[] = {
        {"NFC", UTF8PROC_STABLE | UTF8PROC_COMPOSE},
        {"NFD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
        {"NFKC", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT},
        {"NFKD", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
    };
    static const struct {
        const char *name;
        int kind;
    } plain[] = {
        {"Lowercase", NORMAL_LOWERCASE},
        {"StripAccents", NORMAL_STRIP_MARKS},
        {"Nmt", NORMAL_NMT},
    };
    static const struct {
        const char *name;
        int (*take)(struct tokenizer *t, const cJSON *item, struct err *err);
    } others[] = {{"BertNormalizer", take_bert},
                  {"Strip", take_strip},
                  {"Prepend", take_prepend},
                  {"Replace", take_replace},
                  {"Precompiled", take_charsmap}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (!strcmp(type, forms[i].name))
            return take_form(context, forms[i].options, err);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (!strcmp(type, plain[i].name))
            return add_normal(context, plain[i].kind, err);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!strcmp(type, others[i].name))
            return others[i].take(context, item, err);
    return tokenizer_not_supported(err, "normalizer", type);
}

int tokenizer_take_normaliser(struct tokenizer *t, const cJSON *item,
                              struct err *err)
{
    return tokenizer_for_each(item, "normalizers", "normalizer", t,
                              take_normaliser, err);
}

/* ---- The pre-tokenizer ---- */

static int add_step(struct tokenizer *t, int kind, struct split_step **ret,
                    struct err *err)
{
    if (t->step_count == TOKENIZER_MAX_STEPS)
        return err_set(err, ERR_LIMIT, "too many steps of the pre_tokenizer");
    *ret = &t->steps[t->step_count++];
    **ret = (struct split_step){.kind = kind};
    return 0;
}

int tokenizer_add_split(struct tokenizer *t, const char *text, bool literal,
                        int behavior, struct err *err)
{
    struct split_step *step;
    int code = add_step(t, STEP_SPLIT, &step, err);
    if (code)
        return code;
    step->behavior = behavior;
    return pattern_compile(slice_of(text), literal, &step->pattern, err);
}

/* The text is a pattern of one character. */
static int add_character(struct tokenizer *t, const char *text, int behavior,
                         struct err *err)
{
    int code = tokenizer_add_split(t, text, false, behavior, err);
    if (code)
        return code;
    struct split_step *step = &t->steps[t->step_count - 1];
    pattern_is_character(step->pattern);
    step->character = true;
    return 0;
}

static int add_punctuation(struct tokenizer *t, int behavior, struct err *err)
{
    struct buf regex = {0};
    old_unicode_punctuation(&regex);
    int code = add_character(t, regex.data, behavior, err);
    buf_free(&regex);
    return code;
}

static int take_behavior(const cJSON *item, const char *part, int absent,
                         int *ret, struct err *err)
{
    static const char *const names[] = {
        [SPLIT_ISOLATED] = "Isolated",
        [SPLIT_REMOVED] = "Removed",
        [SPLIT_CONTIGUOUS] = "Contiguous",
        [SPLIT_WITH_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_WITH_NEXT] = "MergedWithNext",
    };
    int which = 0, count = (int)(sizeof names / sizeof names[0]);
    const char *behavior =
        json_get_text(item, "behavior", absent < 0 ? "" : names[absent]);
    while (which < count && strcmp(behavior, names[which]) != 0)
        which++;
    if (which == count)
        return tokenizer_not_supported(err, part, behavior);
    *ret = which;
    return 0;
}

static int take_split(struct tokenizer *t, const cJSON *item, struct err *err)
{
    struct split_step *step;
    int code = add_step(t, STEP_SPLIT, &step, err);
    if (!code)
        code = take_behavior(item, "pre_tokenizer Split's behavior", -1,
                             &step->behavior, err);
    if (code)
        return code;
    step->invert = json_get_bool(item, "invert", false);
    return take_pattern(item, "pre_tokenizer Split", &step->pattern, err);
}

static int take_bytes(struct tokenizer *t, const cJSON *item, struct err *err)
{
    struct split_step *step;
    int code = 0;
    t->byte_level = true;
    if (json_get_bool(item, "add_prefix_space", true))
        code = add_step(t, STEP_SPACE, &step, err);
    if (!code && json_get_bool(item, "use_regex", true))
        code =
            tokenizer_add_split(t, tokenizer_gpt2, false, SPLIT_ISOLATED, err);
    return code;
}

/* "prepend_scheme", or "add_prefix_space" as it was called once. */
static int take_before(const cJSON *item, int *ret, struct err *err)
{
    static const char *const names[] = {[MARK_NEVER] = "never",
                                        [MARK_FIRST] = "first",
                                        [MARK_ALWAYS] = "always"};
    bool old = json_get_bool(item, "add_prefix_space", true);
    const char *scheme = json_get_text(item, "prepend_scheme",
                                       names[old ? MARK_ALWAYS : MARK_NEVER]);
    for (int i = MARK_NEVER; i <= MARK_ALWAYS; i++)
        if (!strcmp(scheme, names[i])) {
            *ret = i;
            return 0;
        }
    return tokenizer_not_supported(err, "pre_tokenizer Metaspace's scheme",
                                   scheme);
}

static int take_metaspace(struct tokenizer *t, const cJSON *item,
                          struct err *err)
{
    const char *mark = json_get_text(item, "replacement", MARK);
    struct split_step *step;
    int code = add_step(t, STEP_MARK, &step, err);
    if (!code)
        code = take_before(item, &step->before, err);
    if (code)
        return code;
    if (!mark[0] || strlen(mark) >= sizeof step->mark)
        return tokenizer_not_supported(err,
                                       "pre_tokenizer Metaspace's "
                                       "replacement",
                                       mark);
    snprintf(step->mark, sizeof step->mark, "%s", mark);
    if (!json_get_bool(item, "split", true))
        return 0;
    return tokenizer_add_split(t, mark, true, SPLIT_WITH_NEXT, err);
}

static int add_spaces(struct tokenizer *t, struct err *err)
{
    int code = add_character(t, "\\s", SPLIT_REMOVED, err);
    if (!code)
        t->steps[t->step_count - 1].spaces = true;
    return code;
}

static int take_bert_splits(struct tokenizer *t, const cJSON *item,
                            struct err *err)
{
    (void)item;
    int code = add_spaces(t, err);
    return code ? code : add_punctuation(t, SPLIT_ISOLATED, err);
}

static int take_whitespace(struct tokenizer *t, const cJSON *item,
                           struct err *err)
{
    (void)item; /* in [ ], which has its \w from another library */
    int code =
        tokenizer_add_split(t, "[\\w]+|[^\\w\\s]+", false, SPLIT_REMOVED, err);
    if (!code)
        t->steps[t->step_count - 1].invert = true;
    return code;
}

static int take_whitespace_split(struct tokenizer *t, const cJSON *item,
                                 struct err *err)
{
    (void)item;
    return add_spaces(t, err);
}

static int take_punctuation(struct tokenizer *t, const cJSON *item,
                            struct err *err)
{
    int behavior = SPLIT_ISOLATED;
    int code = take_behavior(item, "pre_tokenizer Punctuation's behavior",
                             SPLIT_ISOLATED, &behavior, err);
    return code ? code : add_punctuation(t, behavior, err);
}

static int take_digits(struct tokenizer *t, const cJSON *item, struct err *err)
{
    bool each = json_get_bool(item, "individual_digits", false);
    return each ? add_character(t, "\\p{N}", SPLIT_ISOLATED, err)
                : tokenizer_add_split(t, "\\p{N}+", false, SPLIT_ISOLATED, err);
}

static int take_pre_tokenizer(void *context, const cJSON *item,
                              const char *type, struct err *err)
{
    static const struct {
        const char *name;
        int (*take)(struct tokenizer *t, const cJSON *item, struct err *err);
    } kinds[] = {
        {"ByteLevel", take_bytes},
        {"Split", take_split},
        {"Digits", take_digits},
        {"Metaspace", take_metaspace},
        {"BertPreTokenizer", take_bert_splits},
        {"Whitespace", take_whitespace},
        {"WhitespaceSplit", take_whitespace_split},
        {"Punctuation", take_punctuation},
    };
    struct tokenizer *t = context;
    if (t->byte_level)
        return err_set(err, ERR_FORMAT,
                       "the pre_tokenizer has \"%s\" after ByteLevel, which "
                       "is not supported",
                       type);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(type, kinds[i].name))
            return kinds[i].take(t, item, err);
    return tokenizer_not_supported(err, "pre_tokenizer", type);
}

int tokenizer_take_splits(struct tokenizer *t, const cJSON *item,
                          struct err *err)
{
    return tokenizer_for_each(item, "pretokenizers", "pre_tokenizer", t,
                              take_pre_tokenizer, err);
}
