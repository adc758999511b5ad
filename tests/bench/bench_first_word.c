/* How long the first word takes, by what was read before:
 *
 *     first_word MODEL TEXT [TOKENS] [ROUNDS]    2048, 3
 *
 * A prompt of so many tokens: the beginning of the file TEXT and a question.  One JSON
 * object, milliseconds by the clock until the first token was there, the median of
 * so many rounds; each round has a part of TEXT of its own:
 *   cold     nothing was read
 *   again    the same text, another question: in memory
 *   restart  the same after a restart: `open` the model, `first` the question, from
 *            files
 *   bytes    of the files of one prompt; `plain`: as they lie in memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/engine/engine.h"

enum { STOP_MS = 60000, MAX_ROUNDS = 16 };

static const struct prompt_section sections[] = {{1, {1, 1}}};

static void must(int code, const struct err *err)
{
    if (!code)
        return;
    fprintf(stderr, "first_word: %s\n", err->message);
    exit(1);
}

static struct engine *start(const char *model, struct prompt_files *files)
{
    struct engine_options options = {.folder = model, .prompt_files = files};
    struct engine *engine;
    struct err err = {.position = -1};
    must(engine_start(&options, &engine, &err), &err);
    if (!engine_ready(engine, STOP_MS))
        exit(1);
    return engine;
}

static double ask(struct engine *engine, struct slice text,
                  const char *question, size_t *ret_reused)
{
    struct buf prompt = {0};
    struct err err = {.position = -1};
    buf_put_slice(&prompt, text);
    buf_printf(&prompt, "\n\nQuestion: %s\nAnswer:", question);
    struct engine_prompt asked = {.text = buf_slice(&prompt),
                                  .max = 1,
                                  .sections = sections,
                                  .section_count = 1,
                                  .asked = strlen(question) + 19};
    struct engine_answer answer;
    must(engine_generate(engine, &asked, &answer, &err), &err);
    *ret_reused = answer.reused_tokens;
    buf_free(&answer.text);
    buf_free(&prompt);
    return answer.first_ms;
}

/* As many bytes from `from` on as make so many tokens. */
static struct slice cut(struct engine *engine, struct slice text, size_t from,
                        size_t tokens)
{
    struct slice part = {text.data + from, 0};
    struct err err = {.position = -1};
    size_t count = 0;
    while (count < tokens) {
        size_t more = 2 * (tokens - count) + 1;
        if (from + part.size + more > text.size) {
            fprintf(stderr, "first_word: the text is too short\n");
            exit(1);
        }
        part.size += more;
        must(engine_count(engine, part, &count, &err), &err);
    }
    return part;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static void wait_for_files(struct prompt_files *files, size_t least)
{
    struct prompt_files_facts facts;
    prompt_files_facts(files, &facts);
    while (facts.count < least) {
        usleep(1000);
        prompt_files_facts(files, &facts);
    }
}

int main(int argc, char **argv)
{
    struct buf text = {0};
    struct err err = {.position = -1};
    size_t tokens = argc > 3 ? strtoul(argv[3], NULL, 10) : 2048;
    size_t rounds = argc > 4 ? strtoul(argv[4], NULL, 10) : 3, at = 0;
    double cold[MAX_ROUNDS], again[MAX_ROUNDS], opened[MAX_ROUNDS],
        restart[MAX_ROUNDS];
    size_t reused[3];
    char folder[] = "/var/tmp/first-word-XXXXXX", command[64];
    struct prompt_files *files;
    struct prompt_files_facts facts;
    if (argc < 3 || !rounds || rounds > MAX_ROUNDS || !mkdtemp(folder))
        return 2;
    must(file_read(argv[2], (size_t)1 << 30, &text, &err), &err);
    must(prompt_files_open(folder, (uint64_t)1 << 36, &files, &err), &err);
    for (size_t r = 0; r < rounds; r++) {
        struct engine *engine = start(argv[1], files);
        struct slice part = cut(engine, buf_slice(&text), at, tokens - 32);
        struct slice whole = {part.data, part.size};
        prompt_files_facts(files, &facts);
        size_t before = facts.count;
        cold[r] = ask(engine, whole, "What does this describe?", &reused[0]);
        again[r] = ask(engine, whole, "Which values may be set?", &reused[1]);
        wait_for_files(files, before + reused[1] / PREFIX_PIECE);
        engine_stop(engine, clock_ms() + STOP_MS);
        double begin = clock_seconds();
        engine = start(argv[1], files);
        opened[r] = (clock_seconds() - begin) * 1000;
        restart[r] = ask(engine, whole, "What is the default?", &reused[2]);
        engine_stop(engine, clock_ms() + STOP_MS);
        fprintf(stderr, "%zu: %.0f, %.0f (%zu), %.0f + %.0f (%zu)\n", r,
                cold[r], again[r], reused[1], opened[r], restart[r], reused[2]);
        at += part.size;
    }
    prompt_files_facts(files, &facts);
    printf("{\"tokens\": %zu, \"rounds\": %zu, \"cold\": %.1f, "
           "\"again\": %.1f, \"open\": %.1f, \"first\": %.1f, "
           "\"reused\": [%zu, %zu, %zu], \"files\": %zu, \"bytes\": %llu}\n",
           tokens, rounds, median(cold, rounds), median(again, rounds),
           median(opened, rounds), median(restart, rounds), reused[0],
           reused[1], reused[2], facts.count, (unsigned long long)facts.bytes);
    prompt_files_close(files);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) != 0;
}
