#include "memory/lexical/synonyms.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A group a line.  A word may be in several. */
static const char *const groups[] = {
    "abbreviation alias shortcut",
    "abort cancel interrupt kill terminate",
    "account login user",
    "activate enable",
    "add append attach insert",
    "adjust align",
    "administrator root superuser",
    "alert notification notify warning",
    "allow grant permit",
    "alter change edit modify",
    "animation transition",
    "appearance look style theme",
    "archive backup dump",
    "argument option parameter",
    "array list vector",
    "associative dictionary hash map",
    "authenticate authentication login logon",
    "auto automatic automatically",
    "average mean",
    "axis scale",
    "begin launch start startup",
    "big greater huge large",
    "bind listen",
    "blank empty null unset",
    "block deny forbid prohibit refuse reject",
    "border edge frame",
    "bottom footer",
    "break interrupt",
    "bug defect error",
    "build compile",
    "bundle package",
    "capital capitalize uppercase",
    "caption heading title",
    "cell field",
    "change convert transform",
    "character letter",
    "charset encoding",
    "chart diagram graph plot",
    "check test validate verify",
    "choose pick select",
    "clean clear purge",
    "clone copy duplicate",
    "color colour",
    "column field",
    "combine concatenate join merge",
    "comment remark",
    "compare diff difference",
    "concurrent parallel simultaneous",
    "configuration configure preference setting",
    "connection session",
    "console terminal",
    "constant fixed",
    "continue resume",
    "corrupt corruption damage",
    "crash failure",
    "create generate",
    "curve line plot",
    "cut trim truncate",
    "daemon server service",
    "deactivate disable suppress",
    "debug diagnose trace",
    "decimal float fraction",
    "delay pause sleep wait",
    "delete discard drop erase remove",
    "delimiter separator",
    "dependency requirement",
    "detach disown",
    "digit number numeric",
    "directory folder",
    "disk storage",
    "display print show",
    "distinct unique",
    "divide separate split",
    "document file",
    "download fetch",
    "draw paint plot",
    "duplicate repeated",
    "element item",
    "email mail",
    "embed include",
    "encrypt encryption",
    "end exit quit terminate",
    "enlarge expand grow",
    "equal identical same",
    "erase overwrite",
    "error fail failure",
    "escape quote",
    "event signal trigger",
    "exclude ignore skip",
    "execute run",
    "expire expiration timeout",
    "export save write",
    "expression pattern regex regexp",
    "extract unpack",
    "fast performance quick speed",
    "figure graphic illustration image photo picture",
    "find locate search",
    "float int integer numeric",
    "font typeface",
    "forbid prevent",
    "force override",
    "format layout style",
    "forward redirect",
    "free release",
    "freeze hang",
    "function procedure routine",
    "glob pattern wildcard",
    "group role",
    "hang stall stuck",
    "header heading",
    "hidden hide invisible",
    "host machine server",
    "hyperlink link url",
    "import load",
    "indent margin spacing",
    "location offset position",
    "initialize initialise startup",
    "input stdin",
    "install installation setup",
    "interval range",
    "iterate loop repeat",
    "job process task",
    "key keyboard shortcut",
    "kill signal stop",
    "language locale",
    "latency delay",
    "length size",
    "limit maximum quota restrict",
    "load read",
    "lock locking",
    "log logging",
    "lookup search",
    "lost missing",
    "lowercase small",
    "master primary",
    "memory ram",
    "merge union",
    "message output",
    "metric statistics",
    "minimum smallest",
    "mirror replica replicate",
    "missing absent",
    "module package plugin",
    "monitor watch",
    "mount attach",
    "move relocate",
    "multiple several",
    "newline linefeed",
    "node host",
    "obsolete deprecated",
    "offline unavailable down",
    "optimize performance tune",
    "order sort",
    "origin source",
    "output stdout",
    "owner ownership",
    "page sheet",
    "parse read",
    "partition slice",
    "passphrase password secret",
    "paste insert",
    "permission privilege right",
    "persistence persistent sticky stickiness affinity",
    "pipe pipeline",
    "popup dialog window",
    "prefix leading",
    "print output",
    "probe check",
    "program script",
    "prompt question",
    "protect secure",
    "query request",
    "queue backlog",
    "random shuffle",
    "rate frequency",
    "recover restore",
    "recursive recursively subdirectory subfolder",
    "reference link",
    "refresh reload update",
    "register subscribe",
    "rename move",
    "replace substitute",
    "replica secondary slave standby",
    "reset restore",
    "restart reload",
    "retrieve fetch get",
    "revert rollback undo",
    "root zero",
    "round truncate",
    "row record tuple",
    "rule policy",
    "save store",
    "schedule scheduled cron periodically",
    "screen display monitor",
    "section chapter",
    "selection highlight",
    "send transmit",
    "share sharing",
    "shrink reduce",
    "shutdown halt stop",
    "simplify reduce",
    "solve solution solver",
    "space whitespace",
    "spelling spellcheck",
    "stack pile",
    "standard default",
    "status state",
    "string text",
    "subtract minus",
    "suffix extension trailing",
    "sum total",
    "symlink symbolic",
    "sync synchronize synchronise",
    "table grid",
    "temporary temp tmp",
    "throttle limit",
    "timestamp date",
    "timezone zone",
    "toggle switch",
    "transfer upload",
    "type kind",
    "uninstall remove",
    "unlock release break",
    "unzip extract decompress",
    "update upgrade",
    "value content",
    "variable parameter",
    "version revision",
    "wrap fold",
    "zip compress",
    /* As people shorten them. */
    "address addr",
    "application app",
    "argument arg",
    "authentication auth",
    "boolean bool",
    "command cmd",
    "configuration config conf",
    "database db",
    "directory dir",
    "environment env",
    "executable exe",
    "function func fn",
    "information info",
    "library lib",
    "maximum max",
    "message msg",
    "minimum min",
    "option opt",
    "package pkg",
    "parameter param",
    "password passwd pwd pw",
    "preference pref",
    "repository repo",
    "request req",
    "response resp",
    "second sec",
    "specification spec",
    "statistics stats stat",
    "utility util",
    "variable var",
};
enum { GROUPS = sizeof groups / sizeof *groups };

/* A word, and the group it is in. */
struct member {
    struct slice word;
    size_t group;
};

/* Made once, by word; stays until the process ends. */
static struct {
    struct member *items; /* [count] */
    size_t count, capacity;
} members;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int by_word(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = slice_compare(x->word, y->word);
    return order ? order : (x->group > y->group) - (x->group < y->group);
}

static void add_group(size_t group)
{
    for (const char *at = groups[group]; *at;) {
        size_t size = strcspn(at, " ");
        MEM_RESERVE(members.items, &members.capacity, members.count + 1);
        members.items[members.count++] = (struct member){{at, size}, group};
        at += size + (at[size] == ' ');
    }
}

static void make_members(void)
{
    for (size_t g = 0; g < GROUPS; g++)
        add_group(g);
    qsort(members.items, members.count, sizeof *members.items, by_word);
}

static size_t first_of(struct slice word)
{
    size_t low = 0, high = members.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (slice_compare(members.items[middle].word, word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The others of the groups that have the word.  True: there is one. */
static bool find_word(struct slice word,
                      void (*each)(void *context, struct slice word),
                      void *context)
{
    size_t first = first_of(word), i = first;
    for (; i < members.count && slice_equal(members.items[i].word, word); i++)
        for (size_t m = 0; m < members.count; m++)
            if (members.items[m].group == members.items[i].group &&
                !slice_equal(members.items[m].word, word))
                each(context, members.items[m].word);
    return i > first;
}

/* Endings of English, and what is put in their place. */
static const struct ending {
    const char *ending, *instead;
} endings[] = {{"ies", "y"}, {"es", ""},  {"s", ""},   {"ied", "y"},
               {"ed", ""},   {"ed", "e"}, {"ing", ""}, {"ing", "e"},
               {"er", ""},   {"er", "e"}};
enum { MAX_WORD = 32, MIN_LEFT = 3 };

/* "stopping": stop. */
static bool is_doubled(const char *word, size_t size)
{
    return size > MIN_LEFT && word[size - 1] == word[size - 2];
}

void synonyms_of(struct slice word,
                 void (*each)(void *context, struct slice word), void *context)
{
    char base[MAX_WORD + 2];
    pthread_once(&once, make_members);
    if (find_word(word, each, context) || word.size > MAX_WORD)
        return;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t cut = strlen(endings[i].ending),
               put = strlen(endings[i].instead);
        if (word.size < cut + MIN_LEFT ||
            memcmp(word.data + word.size - cut, endings[i].ending, cut) != 0)
            continue;
        size_t left = word.size - cut;
        memcpy(base, word.data, left);
        memcpy(base + left, endings[i].instead, put);
        if (find_word((struct slice){base, left + put}, each, context) ||
            (!put && is_doubled(base, left) &&
             find_word((struct slice){base, left - 1}, each, context)))
            return;
    }
}
