#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/tokenizer/tokenizer_internal.h"
#include "model/tokenizer/utf8.h"

#define GOLDEN "tests/golden/"

static const char *const kinds[] = {
    "models/tied",          "models/untied",      "models/memory",
    "tokenizers/bert",      "tokenizers/cased",   "tokenizers/llama",
    "tokenizers/metaspace", "tokenizers/unigram", "tokenizers/precompiled"};
enum { KINDS = sizeof kinds / sizeof kinds[0], BYTE_LEVEL = 3 };

static cJSON *read_json(const char *path)
{
    struct buf text = {0};
    struct err err = {0};
    cJSON *root = NULL;
    if (file_read(path, 1 << 20, &text, &err) ||
        json_parse(buf_slice(&text), &root, &err))
        fail_msg("%s: %s", path, err.message);
    buf_free(&text);
    return root;
}

static struct tokenizer *open_kind(const char *kind)
{
    char path[128];
    struct err err = {0};
    struct tokenizer *tokenizer = NULL;
    snprintf(path, sizeof path, GOLDEN "%s/tokenizer.json", kind);
    if (tokenizer_open(path, &tokenizer, &err))
        fail_msg("%s: %s", path, err.message);
    return tokenizer;
}

static struct ids encode(const struct tokenizer *tokenizer, struct slice text,
                         bool special)
{
    struct ids ids = {0};
    struct err err = {0};
    if (tokenizer_encode(tokenizer, text, special, &ids, &err))
        fail_msg("%s", err.message);
    return ids;
}

static void check_ids(const struct ids *got, const struct ids *want,
                      struct slice text)
{
    if (got->count != want->count ||
        (got->count &&
         memcmp(got->items, want->items, got->count * sizeof *got->items) != 0))
        fail_msg("other ids: %.*s", (int)text.size, text.data);
}

/* ---- Against Hugging Face's tokenizers (tests/experiments/model) ---- */

static void check_line(const struct tokenizer *tokenizer, const char *kind,
                       struct slice line, const cJSON *want,
                       const char *decoded)
{
    struct ids ids = encode(tokenizer, line, true);
    const cJSON *id;
    size_t i = 0;
    cJSON_ArrayForEach (id, want) {
        if (i >= ids.count || ids.items[i] != id->valueint)
            fail_msg("%s: id %zu of \"%s\" differs", kind, i, line.data);
        i++;
    }
    assert_int_equal(i, ids.count);

    struct buf text = {0}, streamed = {0};
    struct tokenizer_stream stream = {0};
    tokenizer_decode(tokenizer, ids.items, ids.count, true, &text);
    assert_true(slice_is(buf_slice(&text), decoded));
    for (i = 0; i < ids.count; i++) {
        tokenizer_stream_put(tokenizer, &stream, ids.items[i], &streamed);
        assert_int_equal(utf8_well(buf_slice(&streamed)), streamed.size);
    }
    tokenizer_stream_end(&stream, &streamed);
    assert_true(slice_equal(buf_slice(&text), buf_slice(&streamed)));
    buf_free(&text);
    buf_free(&streamed);
    ids_free(&ids);
}

static void same_ids_as_the_reference(void **state)
{
    (void)state;
    cJSON *lines = read_json(GOLDEN "models/lines.json");
    assert_true(cJSON_GetArraySize(lines) >= 300);
    for (size_t k = 0; k < KINDS; k++) {
        char path[128];
        snprintf(path, sizeof path, GOLDEN "%s/tokens.json", kinds[k]);
        cJSON *golden = read_json(path);
        struct tokenizer *tokenizer = open_kind(kinds[k]);
        const cJSON *line = lines->child;
        const cJSON *ids = cJSON_GetObjectItem(golden, "ids")->child;
        const cJSON *text = cJSON_GetObjectItem(golden, "decoded")->child;
        for (; line && ids && text;
             line = line->next, ids = ids->next, text = text->next)
            check_line(tokenizer, kinds[k], slice_of(line->valuestring), ids,
                       text->valuestring);
        assert_true(!line && !ids && !text);
        tokenizer_close(tokenizer);
        cJSON_Delete(golden);
    }
    cJSON_Delete(lines);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The ids of a text are those of its halves, wherever white space parts them. */
static void check_halves(const struct tokenizer *tokenizer, struct slice line)
{
    struct ids whole = encode(tokenizer, line, false);
    for (size_t at = 0; at < line.size; at++) {
        if (!is_space(line.data[at]))
            continue;
        struct ids halves =
            encode(tokenizer, (struct slice){line.data, at}, false);
        struct err err = {0};
        assert_int_equal(
            tokenizer_encode(tokenizer,
                             (struct slice){line.data + at, line.size - at},
                             false, &halves, &err),
            0);
        check_ids(&halves, &whole, line);
        ids_free(&halves);
    }
    ids_free(&whole);
}

static void some_go_by_words(void **state)
{
    (void)state;
    cJSON *lines = read_json(GOLDEN "models/lines.json");
    for (size_t k = 0; k < KINDS; k++) {
        struct tokenizer *tokenizer = open_kind(kinds[k]);
        bool words = !strcmp(kinds[k], "tokenizers/bert") ||
                     !strcmp(kinds[k], "tokenizers/cased");
        if (tokenizer_goes_by_words(tokenizer) != words)
            fail_msg("%s", kinds[k]);
        for (cJSON *line = lines->child; words && line; line = line->next)
            check_halves(tokenizer, slice_of(line->valuestring));
        tokenizer_close(tokenizer);
    }
    cJSON_Delete(lines);
}

/* With the scheme "first" a mark goes before what is left of the text's first
 * character, not before a later one; as the reference has it. */
static void the_first_character_gets_a_mark(void **state)
{
    (void)state;
    enum { MAX = 6 };
    static const struct {
        const char *text;
        int32_t want[MAX]; /* up to -1 */
    } cases[] = {
        {"x", {109, 62, -1}},
        {"\xC2\xA0x", {62, -1}},
        {"\xC2\xB4x", {109, 76, 62, -1}}, /* becomes a space and a mark */
        {" \xC2\xB4x", {76, 62, -1}},
        {"\xC2\xB4\xCC\xA3x", {79, 76, 62, -1}}, /* another mark is first */
        {"\xEF\xB9\x8A", {109, 0, -1}},
        {"\xC2\xBDx", {109, 18, 0, 19, 62, -1}},
    };
    struct tokenizer *tokenizer = open_kind("tokenizers/metaspace");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ids ids = encode(tokenizer, slice_of(cases[i].text), true);
        size_t count = 0;
        while (cases[i].want[count] >= 0)
            count++;
        assert_int_equal(ids.count, count);
        assert_memory_equal(ids.items, cases[i].want,
                            count * sizeof *ids.items);
        ids_free(&ids);
    }
    tokenizer_close(tokenizer);
}

/* ---- Bytes ---- */

/* What `bytes` reads as with U+FFFD (written ?) for each ill-formed part. */
static void check_repair(const char *bytes, size_t size, const char *want)
{
    struct buf text = {0}, marked = {0};
    utf8_repair(&text, (struct slice){bytes, size});
    for (size_t i = 0; i < text.size; i++) {
        if (!strncmp(text.data + i, "\xEF\xBF\xBD", 3)) {
            buf_put_byte(&marked, '?');
            i += 2;
        } else {
            buf_put_byte(&marked, text.data[i]);
        }
    }
    if (!slice_is(buf_slice(&marked), want))
        fail_msg("%s came out as %s", want, marked.data);
    buf_free(&text);
    buf_free(&marked);
}

static void ill_formed_parts_are_replaced(void **state)
{
    (void)state;
#define REPAIR(bytes, want) check_repair(bytes, sizeof bytes - 1, want)
    REPAIR("abc", "abc");
    REPAIR("a\xFFz", "a?z");
    REPAIR("a\x80\x80z", "a??z");
    REPAIR("\xC0\xAF", "??");  /* over-long */
    REPAIR("\xE2\x82z", "?z"); /* cut off: one part */
    REPAIR("\xE2\x82", "?");
    REPAIR("\xF0\x9F\x98", "?");
    REPAIR("\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80");
    REPAIR("\xED\xA0\x80", "???"); /* a surrogate */
    REPAIR("\xE0\x80\x80", "???");
    REPAIR("\xF4\x90\x80\x80", "????"); /* above U+10FFFF */
    REPAIR("\xF5", "?");
    REPAIR("\xF0\x9F\xF0\x9F\x98\x80", "?\xF0\x9F\x98\x80");
    REPAIR("12345678\xC3\xA9"
           "12345678\xC3",
           "12345678\xC3\xA9"
           "12345678?");
#undef REPAIR
}

static void any_bytes_have_ids(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (size_t k = 0; k < KINDS; k++) {
        struct tokenizer *tokenizer = open_kind(kinds[k]);
        for (int round = 0; round < 300; round++) {
            char bytes[64];
            size_t size = unit_below(&seed, sizeof bytes + 1);
            for (size_t i = 0; i < size; i++)
                bytes[i] = (char)(unit_below(&seed, 4) ? unit_below(&seed, 256)
                                                       : 0x80 + i % 64);
            struct buf repaired = {0};
            struct slice text = {bytes, size};
            utf8_repair(&repaired, text);
            struct ids ids = encode(tokenizer, text, false);
            struct ids same = encode(tokenizer, buf_slice(&repaired), false);
            assert_int_equal(ids.count, same.count);
            if (ids.count)
                assert_memory_equal(ids.items, same.items,
                                    ids.count * sizeof *ids.items);
            ids_free(&ids);
            ids_free(&same);
            buf_free(&repaired);
        }
        struct ids nul = encode(tokenizer, (struct slice){"a\0b", 3}, false);
        struct buf text = {0};
        tokenizer_decode(tokenizer, nul.items, nul.count, true, &text);
        if (k < BYTE_LEVEL)
            assert_true(text.size >= 3 &&
                        !memcmp(text.data + text.size - 3, "a\0b", 3));
        buf_free(&text);
        ids_free(&nul);
        tokenizer_close(tokenizer);
    }
}

static void special_tokens_on_request(void **state)
{
    (void)state;
    struct tokenizer *tokenizer = open_kind("models/memory");
    int32_t begin = tokenizer_find(tokenizer, slice_of("<|begin|>"));
    int32_t end = tokenizer_find(tokenizer, slice_of("<|endoftext|>"));
    assert_true(begin > 0 && end == 0);
    assert_true(tokenizer_is_special(tokenizer, begin));
    assert_int_equal(tokenizer_find(tokenizer, slice_of("<|no|>")), -1);
    assert_false(tokenizer_is_special(tokenizer, -1));
    assert_false(tokenizer_is_special(tokenizer, 1 << 30));
    assert_int_equal(tokenizer_bytes(tokenizer, 1 << 30).size, 0);
    struct ids with = encode(tokenizer, slice_of("hello"), true);
    struct ids without = encode(tokenizer, slice_of("hello"), false);
    assert_int_equal(with.count, without.count + 2);
    assert_int_equal(with.items[0], begin);
    assert_int_equal(with.items[with.count - 1], end);
    struct buf text = {0};
    tokenizer_decode(tokenizer, with.items, with.count, false, &text);
    assert_string_equal(text.data, "hello");
    buf_free(&text);
    ids_free(&with);
    ids_free(&without);
    tokenizer_close(tokenizer);
}

/* Of added tokens that start together the longest is taken, wherever it is in
 * the file; those to be matched after normalising are written in any form. */
static void longest_added_token_first(void **state)
{
    (void)state;
    static const char json[] =
        "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},"
        "\"normalizer\":{\"type\":\"NFC\"},"
        "\"pre_tokenizer\":{\"type\":\"ByteLevel\","
        "\"add_prefix_space\":false},\"added_tokens\":["
        "{\"id\":1,\"content\":\"<a\",\"normalized\":false},"
        "{\"id\":2,\"content\":\"<a>\",\"normalized\":false},"
        "{\"id\":3,\"content\":\"<\",\"normalized\":false},"
        "{\"id\":4,\"content\":\"e\\u0301\",\"normalized\":true}]}";
    static const int32_t want[] = {2, 0, 1, 0, 3, 4, 4, 3};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    if (tokenizer_from(slice_of(json), &tokenizer, &err))
        fail_msg("%s", err.message);
    struct ids ids = encode(tokenizer,
                            slice_of("<a>a<aa<\xC3\xA9"
                                     "e\xCC\x81<"),
                            false);
    assert_int_equal(ids.count, sizeof want / sizeof want[0]);
    assert_memory_equal(ids.items, want, sizeof want);
    ids_free(&ids);
    tokenizer_close(tokenizer);
}

/* Quadratic merging would take hours here, not a second. */
static void long_runs_are_not_quadratic(void **state)
{
    (void)state;
    static const char *const runs[] = {
        " ", "a", "\n", "ab", "\xE4\xB8\xAD", "\xCC\x81"};
    enum { SIZE = 1 << 20 };
    char *text = mem_alloc(SIZE);
    for (size_t k = 0; k < KINDS; k++) {
        struct tokenizer *tokenizer = open_kind(kinds[k]);
        for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
            size_t step = strlen(runs[r]),
                   size = (r ? SIZE / 4 : SIZE) / step * step, total = 0;
            for (size_t i = 0; i < size; i += step)
                memcpy(text + i, runs[r], step);
            struct ids ids =
                encode(tokenizer, (struct slice){text, size}, false);
            for (size_t i = 0; i < ids.count; i++)
                total += tokenizer_bytes(tokenizer, ids.items[i]).size;
            if (k < BYTE_LEVEL)
                assert_true(total == size || total == size + 1);
            ids_free(&ids);
        }
        tokenizer_close(tokenizer);
    }
    free(text);
}

/* ---- What a tokenizer.json may say ---- */

/* A tokenizer that knows nothing but bytes: decoded, its ids are the text as the
 * normaliser has it. */
static struct tokenizer *bytes_after(const char *normaliser)
{
    struct tokenizer *tokenizer = NULL;
    struct buf json = {0};
    struct err err = {0};
    buf_printf(&json,
               "{\"normalizer\":%s,\"decoder\":{\"type\":\"ByteFallback\"},"
               "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,"
               "\"merges\":[],\"vocab\":{",
               normaliser);
    for (int byte = 0; byte < 256; byte++)
        buf_printf(&json, "%s\"<0x%02X>\":%d", byte ? "," : "", byte, byte);
    buf_put_text(&json, "}}}");
    if (tokenizer_from(buf_slice(&json), &tokenizer, &err))
        fail_msg("%s: %s", normaliser, err.message);
    buf_free(&json);
    return tokenizer;
}

static void normalisers_do_as_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *normaliser, *text, *want;
    } cases[] = {
        {"null", "a\xC3\xA9 b", "a\xC3\xA9 b"},
        {"{\"type\":\"NFD\"}", "\xC3\xA9", "e\xCC\x81"},
        {"{\"type\":\"NFKC\"}", "\xEF\xAC\x81", "fi"},
        {"{\"type\":\"Lowercase\"}", "A\xC3\x89\xC4\xB0", "a\xC3\xA9i\xCC\x87"},
        {"{\"type\":\"StripAccents\"}", "e\xCC\x81 \xC3\xA9\xE2\x83\x9D",
         "e \xC3\xA9"},
        {"{\"type\":\"Strip\"}", " \xE3\x80\x80 a b\xC2\xA0 ", "a b"},
        {"{\"type\":\"Strip\",\"strip_left\":false}", " a ", " a"},
        {"{\"type\":\"Strip\"}", "  ", ""},
        {"{\"type\":\"Prepend\",\"prepend\":\">>\"}", "a", ">>a"},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\".\"},"
         "\"content\":\"!\"}",
         "a.b.", "a!b!"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},"
         "\"content\":\" \"}",
         "a   b c", "a b c"},
        {"{\"type\":\"Nmt\"}",
         "a\x01\tb\xE2\x80\x8B"
         "c",
         "a b c"},
        {"{\"type\":\"BertNormalizer\"}",
         "\xC3\x89"
         "A\x7F\t\xE4\xB8\xAD\xEF\xBF\xBD",
         "ea  \xE4\xB8\xAD "},
        {"{\"type\":\"BertNormalizer\",\"lowercase\":false,"
         "\"clean_text\":false,\"handle_chinese_chars\":false}",
         "\xC3\x89\t\xE4\xB8\xAD", "\xC3\x89\t\xE4\xB8\xAD"},
        {"{\"type\":\"BertNormalizer\",\"lowercase\":false,"
         "\"strip_accents\":true}",
         "\xC3\x89", "E"},
        /* U+07FD and U+32FF came after Unicode 9, U+1C89 after 15 */
        {"{\"type\":\"NFD\"}", "a\xCC\x81\xDF\xBD\xC3\xA9",
         "a\xCC\x81\xDF\xBD"
         "e\xCC\x81"},
        {"{\"type\":\"NFKC\"}", "\xE3\x8B\xBF\xEF\xAC\x81",
         "\xE3\x8B\xBF"
         "fi"},
        {"{\"type\":\"Lowercase\"}", "\xE1\xB2\x89", "\xE1\xB2\x8A"},
        {"{\"type\":\"NFC\"}", "\xEC\x92\x9C\xE1\x86\xA7",
         "\xEC\x92\x9C\xE1\x86\xA7"},
        {"{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Strip\"},"
         "{\"type\":\"Prepend\",\"prepend\":\"_\"},{\"type\":\"NFC\"}]}",
         " e\xCC\x81", "_\xC3\xA9"},
        /* what is stripped from the right was of the first character, too */
        {"{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\","
         "\"prepend\":\"A \"},{\"type\":\"Strip\"},{\"type\":\"Lowercase\"}]}",
         " ", "a"},
        /* among ASCII: marks join the letter before them, and are put in order */
        {"{\"type\":\"NFC\"}", "See n\xCC\x83, cafe\xCC\x81 \xC3\xA9!e\xCC\x81",
         "See \xC3\xB1, caf\xC3\xA9 \xC3\xA9!\xC3\xA9"},
        {"{\"type\":\"NFD\"}", "xa\xCC\x81\xCC\xA3 \xCC\x81z",
         "xa\xCC\xA3\xCC\x81 \xCC\x81z"},
        {"{\"type\":\"BertNormalizer\"}",
         "Ab\x01\xC3\x89\x7F\rC D\xE4\xB8\xADZ\x02", "abe c d \xE4\xB8\xAD z"},
        {"{\"type\":\"BertNormalizer\"}",
         "\x01\x02"
         "A\x03 B\n",
         "a b "},
        {"{\"type\":\"Nmt\"}",
         "\x01 a\x0B\x0C"
         "b\xE2\x80\xA8"
         "C\x08",
         " a b C"},
        /* empty matches, of which none stands where another match ended */
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x*\"},"
         "\"content\":\"-\"}",
         "axb", "-a-b-"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x*\"},"
         "\"content\":\"-\"}",
         "\xC3\xA9xx", "-\xC3\xA9-"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\b\"},"
         "\"content\":\"-\"}",
         "ab, c", "-ab-, -c-"},
        {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"^\"},"
         "\"content\":\"-\"}",
         "a\nb", "-a\n-b"},
        {"{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},"
         "\"content\":\"-\"}",
         "ab", "-a-b-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *tokenizer = bytes_after(cases[i].normaliser);
        struct ids ids = encode(tokenizer, slice_of(cases[i].text), true);
        struct buf text = {0};
        tokenizer_decode(tokenizer, ids.items, ids.count, true, &text);
        if (!slice_is(buf_slice(&text), cases[i].want))
            fail_msg("%s: \"%s\"", cases[i].normaliser, text.data);
        buf_free(&text);
        ids_free(&ids);
        tokenizer_close(tokenizer);
    }
}

/* Two ways of cutting "xxx" that count as much but for rounding. */
static void equal_ways_are_told_apart_as_the_reference_does(void **state)
{
    (void)state;
    int32_t want[] = {0, 1};
    struct ids expected = {want, 2, 2};
    struct err err = {0};
    struct tokenizer *tokenizer = NULL;
    assert_int_equal(
        tokenizer_from(
            slice_of("{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":"
                     "[[\"<unk>\",0],[\"xx\",-1.34],[\"y\",-14.24]]}}"),
            &tokenizer, &err),
        0);
    struct ids ids = encode(tokenizer, slice_of("xxx"), true);
    check_ids(&ids, &expected, slice_of("xxx"));
    ids_free(&ids);
    tokenizer_close(tokenizer);
}

/* With bytes to fall back on nothing is lost. */
static void text_comes_back_whole(void **state)
{
    (void)state;
    cJSON *lines = read_json(GOLDEN "models/lines.json");
    struct tokenizer *tokenizer = open_kind("tokenizers/llama");
    const cJSON *line;
    cJSON_ArrayForEach (line, lines) {
        struct buf text = {0};
        struct ids ids = encode(tokenizer, slice_of(line->valuestring), true);
        tokenizer_decode(tokenizer, ids.items, ids.count, false, &text);
        if (!strstr(line->valuestring, "\xE2\x96\x81")) /* a mark is a space */
            assert_string_equal(buf_slice(&text).data, line->valuestring);
        buf_free(&text);
        ids_free(&ids);
    }
    tokenizer_close(tokenizer);
    cJSON_Delete(lines);
}

/* A tokenizer whose pieces show: every piece of "the-final--countdown" that a
 * Split can make is a token, of the id of its place in this list. */
static const char *const countdown[] = {
    "the",    "-",      "final",      "countdown", "the-",
    "final-", "-final", "-countdown", "--",        "the-final--countdown"};

static struct tokenizer *countdown_tokenizer(const char *pre_tokenizer)
{
    struct buf json = {0};
    struct err err = {0};
    struct tokenizer *tokenizer = NULL;
    buf_put_text(&json, "{\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,"
                        "\"merges\":[],\"vocab\":{");
    for (size_t i = 0; i < sizeof countdown / sizeof countdown[0]; i++)
        buf_printf(&json, "%s\"%s\":%zu", i ? "," : "", countdown[i], i);
    buf_printf(&json,
               "}},\"pre_tokenizer\":{\"type\":\"Sequence\","
               "\"pretokenizers\":[%s,{\"type\":\"ByteLevel\","
               "\"add_prefix_space\":false,\"use_regex\":false}]}}",
               pre_tokenizer);
    if (tokenizer_from(buf_slice(&json), &tokenizer, &err))
        fail_msg("%s: %s", pre_tokenizer, err.message);
    buf_free(&json);
    return tokenizer;
}

static void check_split(const char *pre_tokenizer, const char *want)
{
    struct tokenizer *tokenizer = countdown_tokenizer(pre_tokenizer);
    struct ids ids = encode(tokenizer, slice_of(countdown[9]), false);
    struct buf pieces = {0};
    for (size_t i = 0; i < ids.count; i++)
        buf_printf(&pieces, "%s%s", i ? " " : "", countdown[ids.items[i]]);
    assert_string_equal(buf_slice(&pieces).data, want);
    buf_free(&pieces);
    ids_free(&ids);
    tokenizer_close(tokenizer);
}

static void splits_behave(void **state)
{
    (void)state;
#define SPLIT(how, invert)                                                     \
    "{\"type\":\"Split\",\"pattern\":{\"String\":\"-\"},\"behavior\":\"" how   \
    "\",\"invert\":" invert "}"
    check_split(SPLIT("Removed", "false"), "the final countdown");
    check_split(SPLIT("Isolated", "false"), "the - final - - countdown");
    check_split(SPLIT("MergedWithPrevious", "false"),
                "the- final- - countdown");
    check_split(SPLIT("MergedWithNext", "false"), "the -final - -countdown");
    check_split(SPLIT("Contiguous", "false"), "the - final -- countdown");
    check_split(SPLIT("Removed", "true"), "- - -");
    check_split("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"-+\"},"
                "\"behavior\":\"Isolated\",\"invert\":false}",
                "the - final -- countdown");
    check_split("{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(?=-)\"},"
                "\"behavior\":\"Isolated\",\"invert\":false}",
                "the -final - -countdown");
    check_split("{\"type\":\"Digits\",\"individual_digits\":true}",
                "the-final--countdown");
#undef SPLIT
}

static void bad_files_are_refused(void **state)
{
    (void)state;
#define BPE                                                                    \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"        \
    "\"merges\":[\"a b\"]}"
#define BYTES         "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}"
#define TIMES_4(text) text text text text
#define LONG          TIMES_4(TIMES_4(TIMES_4("12345")))
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"", "not a JSON value"},
        {"[]", "no \"model\""},
        {"{\"model\":null}", "no \"model\""},
        {"{\"model\":{\"type\":\"Unigram\"}}", "no \"vocab\""},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}", "no \"merges\""},
        {"{\"model\":{\"vocab\":{},\"merges\":[]}," BYTES "}", "is empty"},
        {"{\"model\":{\"vocab\":{\"a\":-1},\"merges\":[]}," BYTES "}", "not a"},
        {"{\"model\":{\"vocab\":{\"a\":1e9},\"merges\":[]}," BYTES "}",
         "not a"},
        {"{\"model\":{\"vocab\":{\"a\":0.5},\"merges\":[]}," BYTES "}",
         "not a"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}," BYTES "}",
         "two tokens have the id 0"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}," BYTES "}",
         "takes \"b\", which is not"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}," BYTES "}",
         "makes \"aa\", which is not"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}," BYTES "}",
         "not two tokens"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[7]}," BYTES "}",
         "not two tokens"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}," BYTES
         "}",
         "dropout"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"byte_fallback\":true}"
         "," BYTES "}",
         "byte_fallback"},
        {"{" BPE ",\"decoder\":{\"type\":\"ByteLevel\"}}", "ByteLevel"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}}",
         "UnicodeScripts"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_"
         "scheme\":\"odd\"}}",
         "odd"},
        {"{" BPE
         ",\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\"}}",
         "replacement"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Sequence\"}}",
         "no \"pretokenizers\""},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":"
         "\"Isolated\",\"pattern\":{\"Regex\":\"(\"}}}",
         "bad pattern"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":"
         "\"Isolated\",\"pattern\":{\"Regex\":\"[a&&b]\"}}}",
         "(&&)"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":"
         "\"Isolated\"}}",
         "no pattern"},
        {"{" BPE ",\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":"
         "\"Odd\",\"pattern\":{\"String\":\"-\"}}}",
         "\"Odd\" is not"},
        {"{" BPE "," BYTES ",\"normalizer\":{\"type\":\"Odd\"}}",
         "\"Odd\" is not"},
        {"{" BPE "," BYTES
         ",\"normalizer\":{\"type\":\"Replace\",\"content\":\"\"}}",
         "no pattern"},
        {"{" BPE "," BYTES ",\"normalizer\":{\"type\":\"Precompiled\","
         "\"precompiled_charsmap\":\"?\"}}",
         "base64"},
        {"{" BPE "," BYTES ",\"normalizer\":{\"type\":\"Precompiled\","
         "\"precompiled_charsmap\":\"////fwAA\"}}",
         "cut off"},
        {"{" BPE "," BYTES
         ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"}"
         ",\"content\":\"" LONG "\"}}",
         "\"content\" has more than 256 bytes"},
        {"{" BPE "," BYTES
         ",\"normalizer\":{\"type\":\"Prepend\",\"prepend\":\"" LONG "\"}}",
         "\"prepend\" has more than 256 bytes"},
        /* one unit of zeros, then 300 letters */
        {"{" BPE "," BYTES ",\"normalizer\":{\"type\":\"Precompiled\","
         "\"precompiled_charsmap\":\"BAAAAAAAAABh" TIMES_4(
             "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhY"
             "WFh"
             "YWFhYWFhYWFhYWFhYWFhYWFhYWFh") "\"}}",
         "by more than 256 bytes"},
        {"{" BPE ",\"decoder\":{\"type\":\"Replace\",\"pattern\":{\"String\":"
         "\"a\"},\"content\":\"12345678901234567\"}}",
         "Replace by \"12345678901234567\""},
        {"{" BPE "," BYTES ",\"decoder\":{\"type\":\"WordPiece\"}}",
         "WordPiece"},
        {"{" BPE "," BYTES ",\"post_processor\":{\"type\":\"Odd\"}}", "Odd"},
        {"{" BPE "," BYTES ",\"post_processor\":{\"type\":"
         "\"TemplateProcessing\",\"single\":[]}}",
         "must have it once"},
        {"{" BPE "," BYTES ",\"post_processor\":{\"type\":"
         "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}}"
         "],\"special_tokens\":{}}}",
         "\"x\", which is not"},
        {"{" BPE "," BYTES ",\"post_processor\":{\"type\":\"BertProcessing\","
         "\"cls\":[\"x\",99],\"sep\":[\"x\",99]}}",
         "no token's"},
        {"{" BPE "," BYTES ",\"post_processor\":{\"type\":"
         "\"TemplateProcessing\",\"single\":[" TIMES_4(TIMES_4(
             "{\"SpecialToken\":{\"id\":\"x\"}},")) "{\"Sequence\":{\"id\":"
                                                    "\"A\"}}],\"special_"
                                                    "tokens\":{\"x\":{\"ids\":"
                                                    "[0,0,0,0,0]}}}}",
         "more than 64 tokens"},
        {"{" BPE "," BYTES ",\"added_tokens\":[{\"id\":0,\"content\":\"x\"}]}",
         "of another"},
        {"{" BPE "," BYTES ",\"added_tokens\":[{\"id\":9,\"content\":\"\"}]}",
         "no content"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *tokenizer = NULL;
        struct err err = {0};
        int code = tokenizer_from(slice_of(cases[i].json), &tokenizer, &err);
        if (code >= 0 || !strstr(err.message, cases[i].says))
            fail_msg("%s: %d %s", cases[i].json, code, err.message);
        assert_null(tokenizer);
    }
    struct tokenizer *fine = NULL;
    assert_int_equal(
        tokenizer_from(slice_of("{" BPE "," BYTES "}"), &fine, NULL), 0);
    tokenizer_close(fine);
}

/* Steps may not multiply what the ones before have made without end. */
static void normalisers_may_not_blow_up_a_text(void **state)
{
    (void)state;
#define DOUBLE                                                                 \
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}"
#define GROWING(steps)                                                         \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]},"         \
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"   \
    "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" steps "]}}"
    static const struct {
        const char *json;
        int code;
    } cases[] = {
        {GROWING(DOUBLE "," DOUBLE "," DOUBLE "," DOUBLE "," DOUBLE), 0},
        {GROWING(DOUBLE "," DOUBLE "," DOUBLE "," DOUBLE "," DOUBLE "," DOUBLE),
         ERR_LIMIT}};
    char text[1000];
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tokenizer *tokenizer = NULL;
        struct ids ids = {0};
        assert_int_equal(
            tokenizer_from(slice_of(cases[i].json), &tokenizer, NULL), 0);
        assert_int_equal(tokenizer_encode(tokenizer,
                                          (struct slice){text, sizeof text},
                                          true, &ids, NULL),
                         cases[i].code);
        if (!cases[i].code)
            assert_int_equal(ids.count, 32 * sizeof text);
        ids_free(&ids);
        tokenizer_close(tokenizer);
    }
}

/* A tokenizer of ASCII letters that splits by `regex` (as JSON has it). */
static int split_by(const char *regex, const char *behavior,
                    struct tokenizer **ret, struct err *err)
{
    struct buf json = {0};
    buf_printf(&json,
               "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{"
               "\"a\":0,\"b\":1}},\"pre_tokenizer\":{\"type\":\"Sequence\","
               "\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{"
               "\"Regex\":\"%s\"},\"behavior\":\"%s\",\"invert\":false},"
               "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}}",
               regex, behavior);
    int code = tokenizer_from(buf_slice(&json), ret, err);
    buf_free(&json);
    return code;
}

/* Matches are places in well-formed text: nothing else may come of a file. */
static void matches_within_characters_are_refused(void **state)
{
    (void)state;
    static const char *const behaviors[] = {"Isolated", "Contiguous",
                                            "Removed"};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    assert_int_equal(split_by("\\\\C", "Isolated", &tokenizer, &err),
                     ERR_FORMAT);
    assert_non_null(strstr(err.message, "bad pattern"));
    /* \K in a lookbehind: a match that starts before where it was asked for */
    for (size_t i = 0; i < sizeof behaviors / sizeof behaviors[0]; i++) {
        assert_int_equal(split_by("(?(DEFINE)(?<k>\\\\K))(?<=(?&k)[ab])b",
                                  behaviors[i], &tokenizer, &err),
                         0);
        struct ids ids = {0};
        int code =
            tokenizer_encode(tokenizer, slice_of("abbbabb"), true, &ids, &err);
        assert_int_equal(code, ERR_FORMAT);
        assert_int_equal(ids.count, 0);
        ids_free(&ids);
        tokenizer_close(tokenizer);
    }
    /* and in a lookahead: one that ends before it starts */
    assert_int_equal(split_by("(?(DEFINE)(?<k>b\\\\K))a(?=(?&k))", "Isolated",
                              &tokenizer, &err),
                     0);
    struct ids ids = {0};
    assert_int_equal(
        tokenizer_encode(tokenizer, slice_of("abab"), true, &ids, &err),
        ERR_FORMAT);
    ids_free(&ids);
    tokenizer_close(tokenizer);
}

/* An added token of half a character would cut texts within one. */
static void files_that_are_not_utf8_are_refused(void **state)
{
    (void)state;
    static const char *const contents[] = {"\xA9", "\x98\x80", "\xC3", "a\xFF",
                                           "\xED\xA0\x80"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        struct tokenizer *tokenizer = NULL;
        struct buf json = {0};
        struct err err = {0};
        buf_printf(&json,
                   "{" BPE "," BYTES ",\"added_tokens\":[{\"id\":9,"
                   "\"content\":\"%s\",\"special\":true}]}",
                   contents[i]);
        assert_int_equal(tokenizer_from(buf_slice(&json), &tokenizer, &err),
                         ERR_FORMAT);
        assert_non_null(strstr(err.message, "not UTF-8"));
        assert_null(tokenizer);
        buf_free(&json);
    }
}

static void files_cut_off_are_refused(void **state)
{
    (void)state;
    struct buf json = {0};
    struct err err = {0};
    assert_int_equal(
        file_read(GOLDEN "models/memory/tokenizer.json", 1 << 20, &json, &err),
        0);
    for (size_t size = 0; size + 1 < json.size; size += 1 + size / 16) {
        struct tokenizer *tokenizer = NULL;
        char *copy = mem_strndup(json.data, size);
        assert_true(
            tokenizer_from((struct slice){copy, size}, &tokenizer, &err) < 0);
        free(copy);
    }
    buf_free(&json);
    struct tokenizer *none = NULL;
    assert_int_equal(tokenizer_open("/nonexistent/tokenizer.json", &none, &err),
                     ERR_IO);
    assert_non_null(strstr(err.path, "tokenizer.json"));
}

/* ---- Words of a piece that is not cut before ---- */

#define MARK "\xE2\x96\x81"

static struct tokenizer *with_merges(const char *merges)
{
    struct buf json = {0};
    struct err err = {0};
    struct tokenizer *tokenizer = NULL;
    buf_printf(&json,
               "{\"model\":{\"type\":\"BPE\",\"merges\":[%s],\"vocab\":{"
               "\"" MARK "\":0,\"a\":1,\"b\":2,\"ab\":3,\"" MARK
               "ab\":4,\"" MARK MARK "\":5,\"b" MARK "\":6,\"b" MARK "a\":7}}}",
               merges);
    if (tokenizer_from(buf_slice(&json), &tokenizer, &err))
        fail_msg("%s", err.message);
    buf_free(&json);
    return tokenizer;
}

/* A text longer than what is looked at as one short piece. */
static void check_merged(const char *merges, bool words, const int32_t *want,
                         size_t count)
{
    struct tokenizer *tokenizer = with_merges(merges);
    struct ids ids = encode(tokenizer,
                            slice_of(MARK "ab" MARK MARK "ab" MARK "abb" MARK
                                          "ab" MARK "ab" MARK "aab" MARK),
                            false);
    assert_int_equal(tokenizer->bpe.words, words);
    assert_int_equal(ids.count, count);
    assert_memory_equal(ids.items, want, count * sizeof *want);
    ids_free(&ids);
    tokenizer_close(tokenizer);
}

static void merges_decide_whether_a_piece_is_cut(void **state)
{
    (void)state;
    static const int32_t within[] = {4, 5, 3, 4, 2, 4, 4, 0, 1, 3, 0};
    static const int32_t across[] = {0, 1, 6, 0, 1, 7, 2, 7, 7, 7, 1, 6};
    check_merged("\"a b\",\"" MARK " " MARK "\",\"" MARK " ab\"", true, within,
                 sizeof within / sizeof within[0]);
    check_merged("\"b " MARK "\",\"b" MARK " a\",\"a b\"", false, across,
                 sizeof across / sizeof across[0]);
}

static void cut_or_not_the_ids_are_the_same(void **state)
{
    (void)state;
    static const char *const parts[] = {
        " ",  "  ",           "the ", "e",  "\xC3\xA9", MARK, "tion", "<s>",
        "\n", "\xE4\xB8\xAD", "\x01", "in", "a",        "1.", "\xFF"};
    struct tokenizer *tokenizer = open_kind("tokenizers/llama");
    uint64_t seed = 3;
    assert_true(tokenizer->bpe.words);
    for (int i = 0; i < 3000; i++) {
        struct buf text = {0};
        for (uint32_t n = unit_below(&seed, 60); n > 0; n--)
            buf_put_text(
                &text,
                parts[unit_below(&seed, sizeof parts / sizeof parts[0])]);
        tokenizer->bpe.words = false;
        struct ids whole = encode(tokenizer, buf_slice(&text), true);
        tokenizer->bpe.words = true;
        struct ids cut = encode(tokenizer, buf_slice(&text), true);
        check_ids(&cut, &whole, buf_slice(&text));
        ids_free(&whole);
        ids_free(&cut);
        buf_free(&text);
    }
    tokenizer_close(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_decide_whether_a_piece_is_cut),
        cmocka_unit_test(cut_or_not_the_ids_are_the_same),
        cmocka_unit_test(same_ids_as_the_reference),
        cmocka_unit_test(some_go_by_words),
        cmocka_unit_test(the_first_character_gets_a_mark),
        cmocka_unit_test(ill_formed_parts_are_replaced),
        cmocka_unit_test(any_bytes_have_ids),
        cmocka_unit_test(special_tokens_on_request),
        cmocka_unit_test(longest_added_token_first),
        cmocka_unit_test(long_runs_are_not_quadratic),
        cmocka_unit_test(splits_behave),
        cmocka_unit_test(normalisers_do_as_they_say),
        cmocka_unit_test(equal_ways_are_told_apart_as_the_reference_does),
        cmocka_unit_test(text_comes_back_whole),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(normalisers_may_not_blow_up_a_text),
        cmocka_unit_test(matches_within_characters_are_refused),
        cmocka_unit_test(files_that_are_not_utf8_are_refused),
        cmocka_unit_test(files_cut_off_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
