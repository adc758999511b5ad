#include "memory/lexical/common_words.h"

#include <string.h>

static bool holds(const char *const *words, size_t count, struct slice word)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        size_t size = strlen(words[middle]);
        int order = memcmp(word.data, words[middle],
                           word.size < size ? word.size : size);
        if (!order)
            order = word.size < size ? -1 : word.size > size;
        if (!order)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

#define HOLDS(words, word) holds(words, sizeof(words) / sizeof *(words), word)

static const char *const stop_words[] = {
    "a",     "about", "all",    "am",     "an",      "and",   "any",   "are",
    "aren",  "as",    "at",     "be",     "been",    "being", "but",   "by",
    "can",   "could", "couldn", "d",      "did",     "didn",  "do",    "does",
    "doesn", "doing", "don",    "for",    "from",    "get",   "had",   "hadn",
    "has",   "hasn",  "have",   "haven",  "having",  "he",    "her",   "hers",
    "him",   "his",   "how",    "i",      "if",      "in",    "into",  "is",
    "isn",   "it",    "its",    "itself", "just",    "ll",    "m",     "me",
    "my",    "no",    "not",    "of",     "on",      "or",    "our",   "out",
    "re",    "s",     "she",    "should", "shouldn", "so",    "some",  "such",
    "t",     "than",  "that",   "the",    "their",   "them",  "then",  "there",
    "these", "they",  "this",   "those",  "to",      "up",    "us",    "use",
    "used",  "using", "ve",     "versus", "vs",      "want",  "was",   "wasn",
    "we",    "were",  "weren",  "what",   "when",    "where", "which", "while",
    "who",   "whom",  "why",    "will",   "with",    "won",   "would", "wouldn",
    "you",   "your"};

static const char *const phrase_words[] = {
    "a",    "about", "all",   "an",    "and", "any",   "as",   "at",
    "but",  "by",    "for",   "from",  "if",  "in",    "into", "its",
    "no",   "not",   "of",    "on",    "or",  "out",   "s",    "some",
    "such", "t",     "than",  "that",  "the", "their", "to",   "up",
    "when", "where", "which", "while", "with"};

static const char *const in_1500[] = {
    "also", "back",  "because", "before", "come",  "comes",  "even",  "first",
    "give", "go",    "goes",    "going",  "good",  "know",   "knows", "like",
    "look", "looks", "made",    "make",   "makes", "making", "may",   "more",
    "most", "much",  "must",    "need",   "needs", "new",    "now",   "one",
    "only", "other", "over",    "people", "right", "said",   "say",   "says",
    "see",  "take",  "takes",   "tell",   "thing", "things", "think", "time",
    "two",  "very",  "way",     "ways",   "well",  "work",   "year",  "years"};

static const char *const in_500[] = {
    "across",     "actual",    "actually",  "always",     "another",
    "anything",   "around",    "ask",       "asked",      "asking",
    "asks",       "became",    "become",    "becomes",    "began",
    "best",       "better",    "big",       "bit",        "both",
    "call",       "came",      "certain",   "day",        "days",
    "different",  "down",      "during",    "each",       "end",
    "enough",     "ever",      "every",     "example",    "fact",
    "far",        "feel",      "few",       "find",       "found",
    "full",       "gets",      "getting",   "given",      "gone",
    "got",        "great",     "hand",      "happen",     "happened",
    "happens",    "hard",      "help",      "helps",      "high",
    "home",       "however",   "important", "interest",   "keep",
    "keeping",    "keeps",     "kind",      "kinds",      "knew",
    "last",       "later",     "least",     "leave",      "left",
    "less",       "let",       "lets",      "life",       "little",
    "live",       "long",      "lot",       "lots",       "many",
    "matter",     "maybe",     "mean",      "means",      "might",
    "mind",       "never",     "next",      "nothing",    "number",
    "off",        "often",     "old",       "once",       "own",
    "part",       "perhaps",   "place",     "point",      "possible",
    "present",    "problem",   "problems",  "provide",    "put",
    "question",   "questions", "quite",     "rather",     "read",
    "reading",    "real",      "really",    "reason",     "same",
    "seem",       "seems",     "seen",      "several",    "show",
    "showed",     "shown",     "shows",     "side",       "since",
    "small",      "something", "sometimes", "soon",       "start",
    "started",    "starting",  "still",     "stop",       "sure",
    "talk",       "talking",   "thank",     "themselves", "though",
    "thought",    "three",     "through",   "today",      "together",
    "told",       "too",       "took",      "toward",     "tried",
    "tries",      "try",       "trying",    "turn",       "under",
    "understand", "until",     "usually",   "various",    "wanted",
    "wanting",    "wants",     "week",      "weeks",      "went",
    "whether",    "whole",     "without",   "word",       "words",
    "working",    "works",     "world",     "wrong",      "yes",
    "yet",        "young"};

static const char *const in_150[] = {
    "able",         "accept",        "afternoon",   "agree",
    "ahead",        "allow",         "almost",      "alone",
    "along",        "already",       "although",    "amount",
    "answer",       "answers",       "anybody",     "anyone",
    "anyway",       "apart",         "appear",      "appears",
    "attempt",      "aware",         "away",        "bad",
    "basic",        "behind",        "believe",     "bring",
    "brought",      "busy",          "buy",         "careful",
    "case",         "catch",         "cause",       "chance",
    "choose",       "chose",         "clear",       "clearly",
    "close",        "common",        "completely",  "concern",
    "consider",     "course",        "current",     "deal",
    "decide",       "decided",       "deep",        "describe",
    "described",    "describes",     "difference",  "difficult",
    "discuss",      "discussed",     "discussing",  "discussion",
    "done",         "doubt",         "early",       "easier",
    "easily",       "easy",          "either",      "else",
    "especially",   "evening",       "everybody",   "everyone",
    "everything",   "exactly",       "expect",      "experience",
    "explain",      "explained",     "explaining",  "explains",
    "explanation",  "fairly",        "fast",        "figure",
    "finally",      "fine",          "follow",      "forget",
    "former",       "forward",       "friend",      "friends",
    "general",      "generally",     "glad",        "guess",
    "guy",          "guys",          "happy",       "hear",
    "heard",        "hello",         "here",        "hope",
    "hour",         "hours",         "hundred",     "idea",
    "ideas",        "imagine",       "immediately", "indeed",
    "inside",       "instead",       "issue",       "itself",
    "knowing",      "knowledge",     "large",       "late",
    "learn",        "learned",       "learning",    "likely",
    "listen",       "looked",        "looking",     "lost",
    "main",         "mainly",        "meaning",     "meant",
    "meet",         "mention",       "mentioned",   "mentioning",
    "mine",         "minute",        "minutes",     "moment",
    "month",        "months",        "morning",     "move",
    "myself",       "near",          "nearly",      "necessary",
    "neither",      "nice",          "nobody",      "none",
    "normal",       "normally",      "notice",      "noticed",
    "obvious",      "occur",         "occurs",      "opinion",
    "otherwise",    "ourselves",     "outside",     "particular",
    "particularly", "past",          "person",      "picture",
    "please",       "possibly",      "practice",    "prefer",
    "pretty",       "previous",      "probably",    "project",
    "properly",     "purpose",       "quick",       "quickly",
    "ready",        "realize",       "recently",    "recommend",
    "regard",       "remember",      "rest",        "saw",
    "sense",        "serious",       "shall",       "short",
    "showing",      "significant",   "similar",     "simple",
    "simply",       "situation",     "slow",        "somebody",
    "someone",      "somewhere",     "sorry",       "sort",
    "sound",        "sounds",        "speak",       "spend",
    "spent",        "stand",         "story",       "strange",
    "stuff",        "such",          "suddenly",    "suggest",
    "suppose",      "supposed",      "surprised",   "team",
    "thanks",       "therefore",     "thinking",    "thousand",
    "tomorrow",     "tonight",       "totally",     "trouble",
    "true",         "truth",         "twice",       "understanding",
    "understood",   "unfortunately", "unless",      "unlike",
    "usual",        "variety",       "wait",        "walk",
    "watch",        "welcome",       "willing",     "wish",
    "wonder",       "wondering",     "worry",       "worth",
    "yesterday",    "yours",         "yourself"};

static const char *const in_40[] = {
    "advance",     "advice",      "advise",      "aim",         "annoyed",
    "annoying",    "apparently",  "appreciate",  "appreciated", "approach",
    "arise",       "aside",       "awful",       "baffled",     "basically",
    "basics",      "beforehand",  "beginner",    "beginners",   "beside",
    "besides",     "boss",        "bother",      "bothers",     "brief",
    "briefly",     "buddy",       "chat",        "clue",        "colleague",
    "colleagues",  "compare",     "concerning",  "confuse",     "confused",
    "confuses",    "confusing",   "coworker",    "coworkers",   "crazy",
    "curious",     "dear",        "definitely",  "desperate",   "easiest",
    "effectively", "elsewhere",   "encounter",   "encountered", "encountering",
    "enjoy",       "essentially", "eventually",  "everyday",    "expert",
    "experts",     "familiar",    "favor",       "favour",      "favourite",
    "folks",       "frankly",     "frequently",  "fun",         "funny",
    "gave",        "gives",       "glance",      "goal",        "gonna",
    "grasp",       "grateful",    "greatly",     "guidance",    "guide",
    "handy",       "hardly",      "heck",        "hey",         "hi",
    "hint",        "hints",       "honest",      "honestly",    "hopefully",
    "huge",        "hurry",       "intend",      "intended",    "intention",
    "interested",  "interesting", "involved",    "kinda",       "kindly",
    "lately",      "lead",        "leads",       "literally",   "lovely",
    "manage",      "managed",     "mess",        "mistake",     "mystery",
    "neat",        "newbie",      "newcomer",    "novice",      "odd",
    "ok",          "okay",        "overall",     "perfectly",   "pitfall",
    "pitfalls",    "plain",       "plainly",     "pleased",     "plenty",
    "pointer",     "popular",     "possibility", "precisely",   "presumably",
    "puzzled",     "puzzles",     "quiet",       "reader",      "readers",
    "reasonable",  "regarding",   "relate",      "related",     "relevant",
    "rely",        "remind",      "reply",       "role",        "rough",
    "roughly",     "scratch",     "seek",        "shortly",     "silly",
    "slightly",    "smart",       "somehow",     "someplace",   "somewhat",
    "stranger",    "struggle",    "struggling",  "stuck",       "stumble",
    "stumbled",    "stupid",      "succeed",     "suggestion",  "suggestions",
    "summarise",   "summarize",   "summary",     "supposedly",  "surely",
    "swear",       "swears",      "teach",       "teammate",    "tend",
    "thorough",    "thoroughly",  "tip",         "tips",        "tough",
    "tricky",      "tutorial",    "typical",     "typically",   "useful",
    "utterly",     "vague",       "wanna",       "weekend",     "weird",
    "whatever",    "whenever",    "wherever",    "wise",        "worked",
    "worried",     "yeah"};

bool word_is_stop_word(struct slice word)
{
    return HOLDS(stop_words, word);
}

bool word_is_of_phrases(struct slice word)
{
    return HOLDS(phrase_words, word);
}

unsigned word_frequency(struct slice word)
{
    if (HOLDS(in_1500, word))
        return 1500;
    if (HOLDS(in_500, word))
        return 500;
    if (HOLDS(in_150, word))
        return 150;
    return HOLDS(in_40, word) ? 40 : 0;
}
