#include "cli/output/explain.h"

#include <string.h>

#include "cli/output/output.h"

enum { MAX_NAMED = 4 /* of the branches pruned at a level */ };

static const char *const RANKINGS[] = {"lexical", "terms", "dense", "tree",
                                       "block"};
enum { RANKING_COUNT = sizeof RANKINGS / sizeof *RANKINGS };

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* ---- What was asked ---- */

static void put_terms(struct buf *out, const cJSON *explain)
{
    const cJSON *term;
    buf_printf(out, "  mode %s\n  words\n",
               json_get_text(explain, "mode", "auto"));
    cJSON_ArrayForEach (term, member(explain, "terms")) {
        const char *written = json_get_text(term, "written", NULL);
        buf_printf(out, "    %s", json_get_text(term, "term", ""));
        if (written)
            buf_printf(out, ", for %s, which stands nowhere", written);
        buf_put_text(out, ": in ");
        output_put_counted(out, json_get_int(term, "nodes", 0), "section",
                           "sections");
        buf_printf(out, ", information %.2f", json_get_double(term, "idf", 0));
        if (json_get_double(term, "weight", 1) < 1)
            buf_printf(out, ", counts %.2f",
                       json_get_double(term, "weight", 1));
        buf_put_byte(out, '\n');
    }
}

/* Phrases, and what is excluded. */
static void put_operators(struct buf *out, const cJSON *explain,
                          const char *kind)
{
    const cJSON *operator;
    cJSON_ArrayForEach (operator, member(explain, kind)) {
        if (operator== member(explain, kind)->child)
            buf_printf(out, "  %s\n", kind);
        buf_printf(out, "    %s: in ", json_get_text(operator, "text", ""));
        output_put_counted(out, json_get_int(operator, "nodes", 0), "section",
                           "sections");
        buf_put_byte(out, '\n');
    }
}

static void put_dense(struct buf *out, const cJSON *explain)
{
    const cJSON *dense = member(explain, "dense");
    int64_t added = json_get_int(dense, "added", 0);
    if (!dense)
        return;
    buf_put_text(out, "  vectors\n    ");
    output_put_counted(out, json_get_int(dense, "segments", 0), "segment",
                       "segments");
    if (strcmp(json_get_text(dense, "by", ""), "lists") != 0) {
        buf_put_text(out, ", each compared\n");
        return;
    }
    buf_put_text(out, "; compared: ");
    output_put_count(out, json_get_int(dense, "seen", 0));
    buf_put_text(out, " in the ");
    output_put_count(out, json_get_int(dense, "probes", 0));
    buf_put_text(out, " nearest of ");
    output_put_count(out, json_get_int(dense, "lists", 0));
    buf_put_text(out, " lists");
    if (added) {
        buf_put_text(out, ", and ");
        output_put_count(out, added);
        buf_put_text(out, " new ones");
    }
    buf_put_byte(out, '\n');
}

/* ---- The ways down the tree ---- */

static bool is_at(const cJSON *step, const char *by, int64_t depth)
{
    return !strcmp(json_get_text(step, "by", ""), by) &&
           json_get_int(step, "depth", -1) == depth;
}

static void put_step(struct buf *out, const cJSON *step)
{
    buf_printf(out, "%s %.4g", json_get_text(step, "title", ""),
               json_get_double(step, "score", 0));
}

/* False: the descent had ended before this level. */
static bool put_level(struct buf *out, const cJSON *levels, const char *by,
                      int64_t depth)
{
    const cJSON *step;
    int kept = 0, pruned = 0;
    cJSON_ArrayForEach (step, levels) {
        if (!is_at(step, by, depth))
            continue;
        if (json_get_bool(step, "kept", false)) {
            buf_printf(out, kept++ ? "\n       kept  " : "    %lld. kept  ",
                       (long long)depth + 1);
            put_step(out, step);
        } else if (pruned++ < MAX_NAMED) {
            buf_put_text(out, pruned > 1 ? "; " : "\n       left  ");
            put_step(out, step);
        }
    }
    if (pruned > MAX_NAMED)
        buf_printf(out, "; and %d more", pruned - MAX_NAMED);
    if (kept || pruned)
        buf_put_byte(out, '\n');
    return kept || pruned;
}

static void put_beam_search(struct buf *out, const cJSON *explain,
                            const char *by, const char *heading)
{
    struct buf text = {0};
    for (int64_t depth = 0;
         put_level(&text, member(explain, "levels"), by, depth); depth++)
        ;
    if (text.size)
        buf_printf(out, "  %s\n%s", heading, text.data);
    buf_free(&text);
}

/* ---- The results ---- */

static void put_hit(struct buf *out, int number, const cJSON *hit)
{
    const char *between = " = ";
    buf_printf(out, "    %d. %s  %.3f", number, json_get_text(hit, "node", ""),
               json_get_double(hit, "score", 0));
    for (int r = 0; r < RANKING_COUNT; r++) {
        const cJSON *place = member(hit, RANKINGS[r]);
        if (!place)
            continue;
        buf_printf(out, "%s%s no. %lld (%.4g)", between, RANKINGS[r],
                   (long long)json_get_int(place, "rank", 0),
                   json_get_double(place, "score", 0));
        between = " + ";
    }
    buf_put_byte(out, '\n');
}

static void put_hits(struct buf *out, const cJSON *explain)
{
    const cJSON *weights = member(explain, "weights"), *hit;
    int number = 0;
    buf_put_text(out, "  results, by");
    for (int r = 0; r < RANKING_COUNT; r++)
        if (json_get_double(weights, RANKINGS[r], 0) > 0)
            buf_printf(out, " %.3g %s",
                       json_get_double(weights, RANKINGS[r], 0), RANKINGS[r]);
    buf_put_byte(out, '\n');
    cJSON_ArrayForEach (hit, member(explain, "hits"))
        put_hit(out, ++number, hit);
    buf_printf(
        out,
        "  the manuals hold an answer with a probability of %.0f %%; one "
        "is given from %.0f on\n",
        100 * json_get_double(explain, "confidence", 0),
        100 * json_get_double(explain, "least_confidence", 0));
}

void explain_put(struct buf *out, const cJSON *result)
{
    const cJSON *explain = member(result, "explain");
    if (!explain)
        return;
    buf_put_text(out, "\nhow this was found\n");
    put_terms(out, explain);
    put_operators(out, explain, "phrases");
    put_operators(out, explain, "excluded");
    put_dense(out, explain);
    put_beam_search(out, explain, "terms", "down the tree, by words");
    put_beam_search(out, explain, "tree", "down the tree, by memories");
    put_hits(out, explain);
}

void explain_print(const cJSON *result)
{
    struct buf text = {0};
    explain_put(&text, result);
    if (text.size)
        output_text(text.data);
    buf_free(&text);
}
