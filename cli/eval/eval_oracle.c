#include "cli/eval/eval_oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/eval/eval_request.h"
#include "cli/eval/score.h"

enum { EVIDENCE_HITS = 20, EVIDENCE_BYTES = 1000, WINDOW = 6 /* sentences */ };

struct oracle_section {
    const cJSON *node; /* of the toc */
    cJSON *path;       /* titles; the manual's own is left out */
};

/* ---- The sections ---- */

static void add_section(struct oracle *oracle, const cJSON *node, cJSON *path)
{
    MEM_RESERVE(oracle->sections, &oracle->capacity, oracle->count + 1);
    oracle->sections[oracle->count++] = (struct oracle_section){node, path};
}

/* A manual's root is at level 0, and its title in no path. */
static void add_sections(struct oracle *oracle, const cJSON *node,
                         const cJSON *above)
{
    const cJSON *child;
    cJSON *path = above ? cJSON_Duplicate(above, true) : cJSON_CreateArray();
    bool root = json_get_int(node, "level", 0) == 0;
    if (!root)
        cJSON_AddItemToArray(
            path, cJSON_CreateString(json_get_text(node, "title", "")));
    add_section(oracle, node, path);
    cJSON_ArrayForEach (child,
                        cJSON_GetObjectItemCaseSensitive(node, "children"))
        add_sections(oracle, child, path);
}

int oracle_open(struct cli *cli, struct oracle *ret, struct err *err)
{
    struct oracle oracle = {0};
    struct buf params = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    cli_param_text(&json, "manual", cli->options.manual);
    json_end(&json, '}');
    int code =
        cli_call_parsed(cli, "toc", buf_slice(&params), &oracle.toc, err);
    if (!code) {
        add_sections(&oracle, oracle.toc, NULL);
        *ret = oracle;
    }
    buf_free(&params);
    return code;
}

void oracle_close(struct oracle *oracle)
{
    for (size_t i = 0; i < oracle->count; i++)
        cJSON_Delete(oracle->sections[i].path);
    free(oracle->sections);
    cJSON_Delete(oracle->toc);
    *oracle = (struct oracle){0};
}

/* ---- The right one ---- */

/* The section as a search result. */
static bool is_right(const struct question *question,
                     const struct oracle_section *section)
{
    const char *file = json_get_text(section->node, "file", "");
    cJSON *result = cJSON_CreateObject();
    if (question->document && strcmp(question->document, file) != 0) {
        cJSON_Delete(result);
        return false;
    }
    cJSON_AddItemReferenceToObject(result, "path", section->path);
    cJSON_AddStringToObject(result, "file", file);
    bool right = question_is_right(question, result);
    cJSON_Delete(result);
    return right;
}

static int find_evidence(struct cli *cli, const struct question *question,
                         const char *passage, char node[32], struct err *err)
{
    char *start = mem_strndup(passage, strnlen(passage, EVIDENCE_BYTES));
    struct eval_request request = {.question = question,
                                   .query = start,
                                   .mode = "lexical",
                                   .count = EVIDENCE_HITS};
    cJSON *result = NULL;
    const cJSON *hit;
    double ms;
    int code = start[0] ? eval_request(cli, &request, &ms, &result, err) : 0;
    cJSON_ArrayForEach (hit,
                        cJSON_GetObjectItemCaseSensitive(result, "results")) {
        if (!node[0] && question_is_right(question, hit))
            snprintf(node, 32, "%s", json_get_text(hit, "node", ""));
    }
    cJSON_Delete(result);
    free(start);
    return code;
}

int oracle_find(struct cli *cli, const struct oracle *oracle,
                const struct question *question, char node[32], struct err *err)
{
    int code = 0;
    node[0] = '\0';
    if (question->section || question->sections || question->pages)
        for (size_t i = 0; i < oracle->count && !node[0]; i++)
            if (is_right(question, &oracle->sections[i]))
                snprintf(node, 32, "%s",
                         json_get_text(oracle->sections[i].node, "id", ""));
    for (size_t i = 0; i < question->evidence.count && !node[0] && !code; i++)
        code = find_evidence(cli, question, question->evidence.items[i], node,
                             err);
    return code;
}

/* ---- Its best passage ---- */

struct best {
    const struct question *question;
    char *text; /* NULL: nothing yet */
    double score;
};

static void consider(struct best *best, const char *from, size_t size)
{
    char *text = mem_strndup(from, size);
    double score = 0;
    for (size_t i = 0; i < best->question->answers.count; i++)
        score =
            fmax(score, score_rouge_l(text, best->question->answers.items[i]));
    if (best->text && score <= best->score) {
        free(text);
        return;
    }
    free(best->text);
    best->text = text;
    best->score = score;
}

/* Where the sentence ends that starts here: behind a full stop, question or
 * exclamation mark before a space, or at a line's end. */
static const char *sentence_end(const char *at)
{
    for (; *at; at++)
        if (*at == '\n' || (strchr(".?!", *at) && (at[1] == ' ' || !at[1])))
            return at + 1;
    return at;
}

static void consider_block(struct best *best, const char *text)
{
    consider(best, text, strlen(text));
    for (const char *from = text; *from; from = sentence_end(from)) {
        const char *end = from;
        for (int i = 0; i < WINDOW && *end; i++) {
            end = sentence_end(end);
            consider(best, from, (size_t)(end - from));
        }
    }
}

static cJSON *passage_of(const cJSON *section, const struct question *question)
{
    struct best best = {.question = question};
    const cJSON *block;
    cJSON_ArrayForEach (block,
                        cJSON_GetObjectItemCaseSensitive(section, "blocks"))
        consider_block(&best, json_get_text(block, "text", ""));
    if (!best.text)
        return NULL;
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "kind", "passages");
    cJSON_AddStringToObject(result, "answer", best.text);
    free(best.text);
    return result;
}

int oracle_passage(struct cli *cli, const char *node,
                   const struct question *question, cJSON **ret_result,
                   struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *section = NULL;
    json_begin(&json, '{');
    json_field_text(&json, "node", node);
    json_end(&json, '}');
    int code = cli_call_parsed(cli, "get", buf_slice(&params), &section, err);
    if (!code)
        *ret_result = passage_of(section, question);
    cJSON_Delete(section);
    buf_free(&params);
    return code;
}
