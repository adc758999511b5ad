#include "memory/lexical/question_language.h"

#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "memory/lexical/common_words.h"
#include "memory/lexical/script.h"

enum { MIN_WORDS = 2, MAX_WORDS = 128 };

struct question_language {
    const char *const marks[LANGUAGE_MARKS];
    const char *const words[MAX_WORDS]; /* up to the first NULL */
};

static const struct question_language languages[] = {
    /* German */
    {{"nicht", "werden", "oder", "wird"},
     {"aber",         "als",     "am",      "an",      "auch",    "auf",
      "aus",          "bei",     "beim",    "bekomme", "brauche", "da",
      "damit",        "darf",    "das",     "dass",    "dem",     "den",
      "der",          "des",     "die",     "diese",   "diesem",  "diesen",
      "dieser",       "dieses",  "durch",   "ein",     "eine",    "einem",
      "einen",        "einer",   "eines",   "er",      "es",      "etwas",
      "funktioniert", "für",     "gibt",    "habe",    "haben",   "hat",
      "ich",          "ihm",     "ihn",     "ihr",     "im",      "in",
      "ist",          "kann",    "kein",    "keine",   "keinen",  "können",
      "könnte",       "lässt",   "mache",   "machen",  "macht",   "man",
      "mein",         "meine",   "meinem",  "meinen",  "meiner",  "meines",
      "mich",         "mir",     "mit",     "möchte",  "muss",    "müssen",
      "nach",         "nicht",   "oder",    "sein",    "seine",   "sich",
      "sie",          "sind",    "soll",    "sollte",  "um",      "und",
      "uns",          "vom",     "von",     "war",     "warum",   "was",
      "welche",       "welchem", "welchen", "welcher", "welches", "wenn",
      "wer",          "werden",  "wie",     "wieso",   "will",    "wir",
      "wird",         "wo",      "woher",   "wofür",   "wozu",    "wurde",
      "zu",           "zum",     "zur"}},
    /* French */
    {{"pour", "avec", "vous", "sont"},
     {"à",      "ai",       "au",    "aux",   "avec",  "c",       "ce",
      "cela",   "ces",      "cet",   "cette", "chez",  "comment", "d",
      "dans",   "de",       "des",   "dois",  "doit",  "donc",    "du",
      "elle",   "en",       "est",   "et",    "être",  "faire",   "fait",
      "faut",   "il",       "ils",   "j",     "je",    "l",       "la",
      "le",     "les",      "leur",  "lui",   "m",     "ma",      "mais",
      "me",     "mes",      "mon",   "n",     "ne",    "nous",    "on",
      "ou",     "où",       "par",   "pas",   "peut",  "peux",    "plus",
      "pour",   "pourquoi", "puis",  "qu",    "quand", "que",     "quel",
      "quelle", "quelles",  "quels", "qui",   "quoi",  "s",       "sa",
      "se",     "sert",     "ses",   "si",    "son",   "sont",    "suis",
      "sur",    "t",        "tu",    "un",    "une",   "veux",    "vers",
      "vous",   "y"}},
    /* Spanish */
    {{"los", "para", "las", "como"},
     {"a",      "al",     "como",   "cómo",   "con",    "cuál", "cuales",
      "cuáles", "cuando", "cuándo", "cuanto", "cuánto", "de",   "debo",
      "del",    "desde",  "donde",  "dónde",  "e",      "el",   "en",
      "entre",  "es",     "esta",   "está",   "están",  "este", "esto",
      "existe", "ha",     "hace",   "hacer",  "hago",   "hay",  "la",
      "las",    "le",     "les",    "lo",     "los",    "me",   "mi",
      "mis",    "no",     "o",      "para",   "pero",   "por",  "puede",
      "puedo",  "que",    "qué",    "quiero", "quién",  "se",   "ser",
      "si",     "sirve",  "sobre",  "son",    "su",     "sus",  "un",
      "una",    "unas",   "uno",    "unos",   "y"}},
    /* Italian */
    {{"della", "che", "sono", "questo"},
     {"a",     "ad",    "ai",    "al",     "alla",   "alle",   "anche",  "c",
      "che",   "chi",   "ci",    "come",   "con",    "cosa",   "cos",    "cui",
      "da",    "dal",   "dalla", "dei",    "del",    "della",  "delle",  "devo",
      "di",    "dove",  "e",     "è",      "essere", "fa",     "faccio", "fare",
      "gli",   "ho",    "i",     "il",     "in",     "l",      "la",     "le",
      "lo",    "ma",    "mi",    "mia",    "mie",    "miei",   "mio",    "nel",
      "nella", "non",   "o",     "per",    "perché", "più",    "posso",  "può",
      "qual",  "quale", "quali", "quando", "quanto", "questa", "questo", "se",
      "serve", "si",    "sono",  "su",     "sul",    "sulla",  "tra",    "un",
      "una",   "uno",   "voglio"}},
    /* Portuguese */
    {{"não", "uma", "são", "pode"},
     {"a",     "ao",    "aos",    "as",     "às",  "com",    "como",  "da",
      "das",   "de",    "devo",   "do",     "dos", "e",      "é",     "em",
      "entre", "esta",  "está",   "este",   "eu",  "faço",   "fazer", "há",
      "isso",  "isto",  "mas",    "me",     "meu", "meus",   "minha", "minhas",
      "na",    "não",   "nas",    "no",     "nos", "o",      "onde",  "os",
      "ou",    "para",  "pela",   "pelo",   "por", "porque", "posso", "pode",
      "qual",  "quais", "quando", "quanto", "que", "quê",    "quem",  "quero",
      "se",    "ser",   "serve",  "seu",    "são", "sobre",  "sua",   "um",
      "uma",   "umas",  "uns"}},
    /* Dutch */
    {{"het", "een", "voor", "niet"},
     {"aan",  "als",     "bij",     "dat",    "de",      "deze", "die",
      "dit",  "doe",     "doen",    "door",   "dus",     "een",  "en",
      "er",   "ga",      "gaat",    "heb",    "heeft",   "het",  "hij",
      "hoe",  "hoeveel", "ik",      "in",     "is",      "je",   "kan",
      "kun",  "kunnen",  "maak",    "maar",   "met",     "mij",  "mijn",
      "moet", "naar",    "niet",    "nog",    "of",      "om",   "ook",
      "op",   "over",    "te",      "tot",    "tussen",  "uit",  "van",
      "voor", "waar",    "waarmee", "waarom", "wanneer", "wat",  "we",
      "welk", "welke",   "werkt",   "wie",    "wil",     "word", "wordt",
      "ze",   "zich",    "zijn"}},
    /* Japanese and Chinese, told by their characters */
    {{"です", "ます", "する", "して"}, {NULL}},
    {{"可以", "如果", "一个", "进行"}, {NULL}}};

enum { LANGUAGES = sizeof languages / sizeof *languages };
static_assert(LANGUAGES + 1 == QUESTION_LANGUAGES, "and English");
enum { JAPANESE = LANGUAGES - 2, CHINESE };

static bool has(const struct question_language *language, struct slice word)
{
    for (size_t i = 0; language->words[i]; i++)
        if (slice_is(word, language->words[i]))
            return true;
    return false;
}

/* What manuals are about, too, and what is searched for by its name ("key der des", "ad
 * users", "ip del lo"): such words tell no language. */
static bool is_subject(struct slice word)
{
    static const char *const subjects[] = {
        "ad",   "ai",  "al",  "ci",   "com", "comment", "con", "dal", "das",
        "de",   "del", "der", "des",  "die", "dos",     "en",  "er",  "es",
        "ha",   "hay", "las", "lo",   "man", "me",      "mi",  "mit", "nas",
        "over", "par", "per", "plus", "son", "sur",     "war", "word"};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (slice_is(word, subjects[i]))
            return true;
    return false;
}

struct counts {
    size_t of[LANGUAGES], english;
    size_t sure[LANGUAGES]; /* of those, that are no subjects */
};

static void count_word(void *context, const struct term_at *at)
{
    struct counts *counts = context;
    if (at->whole || at->part || at->capitals)
        return;
    bool english = word_is_stop_word(at->word);
    bool sure = !is_subject(at->word);
    counts->english += english;
    for (size_t i = 0; !english && at->word.size > 1 && i < LANGUAGES; i++)
        if (has(&languages[i], at->word)) {
            counts->of[i]++;
            counts->sure[i] += sure;
        }
}

struct english {
    const struct question_language *language;
    bool found;
};

static void look_for_english(void *context, const struct term_at *at)
{
    struct english *english = context;
    english->found |= !at->whole && !at->part && !at->capitals &&
                      word_is_stop_word(at->word) &&
                      !has(english->language, at->word);
}

bool question_language_may_be(const struct question_language *language,
                              struct analyzer *maker, struct slice question)
{
    struct english english = {language, false};
    analyze(maker, question, look_for_english, &english);
    return !english.found;
}

const char *const *question_language_marks(
    const struct question_language *language)
{
    static const char *const english[LANGUAGE_MARKS] = {"the", "this", "with",
                                                        "are"};
    return language ? language->marks : english;
}

const struct question_language *question_language_at(size_t i)
{
    return i < LANGUAGES ? &languages[i] : NULL;
}

static bool is_kana(uint32_t c)
{
    return (c >= 0x3041 && c <= 0x309F) || (c >= 0x30A1 && c <= 0x30FA) ||
           (c >= 0xFF66 && c <= 0xFF9D);
}

/* NULL: there are no two characters of theirs. */
static const struct question_language *told_by_characters(struct slice question)
{
    size_t kana = 0, han = 0;
    for (size_t at = 0, step; at < question.size; at += step) {
        uint32_t c = text_decode(question.data, question.size, at, &step);
        kana += is_kana(c);
        han += (c >= 0x3400 && c <= 0x9FFF) || (c >= 0x20000 && c <= 0x323AF);
    }
    return kana + han < 2 ? NULL : &languages[kana ? JAPANESE : CHINESE];
}

const struct question_language *question_language(struct analyzer *maker,
                                                  struct slice question)
{
    struct counts counts = {0};
    size_t best = 0;
    analyze(maker, question, count_word, &counts);
    const struct question_language *told = told_by_characters(question);
    if (told && !counts.english)
        return told;
    for (size_t i = 0; i < LANGUAGES; i++) {
        counts.of[i] = counts.sure[i] ? counts.of[i] : 0;
        if (counts.of[i] > counts.of[best])
            best = i;
    }
    return counts.of[best] >= MIN_WORDS && counts.of[best] > counts.english
               ? &languages[best]
               : NULL;
}

/* ---- Chinese and Japanese ---- */

static bool holds(const char *characters, const char *at, size_t size)
{
    return memmem(characters, strlen(characters), at, size) != NULL;
}

static bool is_cjk_grammar(struct slice word)
{
    static const char particles[] =
        "的了吗呢么吧呀什怎哪谁何这那我你您们请个是在"
        "和与"
        "をはがにでとのへも";
    static const char *const verbs[] = {"可以", "能够", "应该", "需要", "想要",
                                        "使用", "关于", "如果", "为了", "进行"};
    /* words that have a particle's character, as "request" and "grant" */
    static const char *const subjects[] = {"请求", "申请", "邀请", "几何",
                                           "在线", "个人", "目的", "总和",
                                           "付与", "在庫"};
    bool kana = word.size > 0;
    if (!word.size || (unsigned char)word.data[0] < CJK_MIN_BYTE)
        return false;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (slice_is(word, subjects[i]))
            return false;
    for (size_t at = 0, step; at < word.size; at += step) {
        uint32_t c = text_decode(word.data, word.size, at, &step);
        if (holds(particles, word.data + at, step))
            return true;
        kana = kana && c >= 0x3041 && c <= 0x309F; /* endings, particles */
    }
    for (size_t i = 0; !kana && i < sizeof verbs / sizeof *verbs; i++)
        if (slice_is(word, verbs[i]))
            return true;
    return kana;
}

bool question_language_passes_over(const struct question_language *language,
                                   struct slice word)
{
    return word_is_stop_word(word) || is_cjk_grammar(word) ||
           (language && has(language, word));
}
