#include "model/weights/scoring_config.h"

#include <string.h>

#include "base/mem.h"
#include "model/json_members.h"

/* ---- Heads of encoders ---- */

/* ModernBERT's, of which there are kinds. */
static int take_head(const cJSON *root, struct scoring_config *s,
                     struct err *err)
{
    const char *pooling = "cls", *act = "gelu";
    s->bias = false;
    int code = member_text(root, "classifier_pooling", &pooling, err);
    if (!code)
        code = member_text(root, "classifier_activation", &act, err);
    if (!code)
        code = member_bool(root, "classifier_bias", &s->bias, err);
    s->mean = !strcmp(pooling, "mean");
    if (!code && !s->mean && strcmp(pooling, "cls") != 0)
        code = err_set(err, ERR_FORMAT,
                       "classifier_pooling \"%.60s\" is not supported (cls and "
                       "mean are)",
                       pooling);
    if (!code && strcmp(act, "gelu") != 0)
        code = err_set(err, ERR_FORMAT,
                       "classifier_activation \"%.60s\" is not supported (gelu "
                       "is)",
                       act);
    return code;
}

/* ---- Decoders ---- */

/* {query}, and {document} behind it. */
static int take_prompt(const char *prompt, struct scoring_config *s,
                       struct err *err)
{
    const char *query = strstr(prompt, "{query}");
    if (!query || !strstr(query, "{document}"))
        return member_not(err, "rerank_prompt",
                          "a text with {query} and then {document} in it");
    s->prompt = mem_strdup(prompt);
    return 0;
}

/* Two texts; absent: "yes" and "no". */
static int take_two(const cJSON *lectern, const char *name, const char *ret[2],
                    struct err *err)
{
    const cJSON *list = member_find(lectern, name);
    ret[0] = "yes";
    ret[1] = "no";
    if (!list)
        return 0;
    for (int i = 0; i < 2; i++)
        ret[i] = cJSON_GetStringValue(cJSON_GetArrayItem(list, i));
    if (cJSON_GetArraySize(list) != 2 || !ret[0] || !ret[1])
        return member_not(err, name, "a list of two texts");
    return 0;
}

static int take_decoder(const cJSON *lectern, const char *prompt,
                        bool classifies, struct model_config *c,
                        struct err *err)
{
    struct scoring_config *s = &c->scoring;
    const char *words[2];
    bool labels = member_find(lectern, "rerank_labels") != NULL;
    if (!prompt)
        return err_set(err, ERR_FORMAT,
                       "a classifier that is a decoder needs the text that it "
                       "reads: \"lectern\": {\"rerank_prompt\": "
                       "\"...{query}...{document}...\"}");
    int code = take_prompt(prompt, s, err);
    if (!code)
        code = take_two(lectern, labels ? "rerank_labels" : "rerank_words",
                        words, err);
    if (code)
        return code;
    s->kind = labels ? SCORE_LABELS : classifies ? SCORE_LINEAR : SCORE_WORDS;
    s->reversed = labels && !strcmp(words[1], "yes");
    for (int i = 0; i < 2 && s->kind == SCORE_WORDS; i++)
        s->words[i] = mem_strdup(words[i]);
    c->scores = true;
    c->writes = false;
    return 0;
}

/* ---- Both ---- */

int scoring_from(const cJSON *root, struct model_config *c, struct err *err)
{
    static const char classifier[] = "ForSequenceClassification";
    const cJSON *lectern = member_find(root, "lectern");
    const char *prompt = NULL;
    const char *name = cJSON_GetStringValue(
        cJSON_GetArrayItem(member_find(root, "architectures"), 0));
    size_t size = name ? strlen(name) : 0, tail = sizeof classifier - 1;
    int labels = cJSON_GetArraySize(member_find(root, "id2label"));
    bool classifies = c->names->score && size > tail &&
                      !strcmp(name + size - tail, classifier);
    int code = member_text(lectern, "rerank_prompt", &prompt, err);
    if (code)
        return code;
    if (classifies && labels != 1)
        return err_set(err, ERR_FORMAT,
                       "a classifier of %d labels is not supported (of one, a "
                       "reranker, it is)",
                       labels ? labels : 2);
    if (!c->architecture->encoder && (classifies || prompt))
        return take_decoder(lectern, prompt, classifies, c, err);
    c->scores = classifies;
    c->scoring.bias = true;
    return classifies && c->names->score_norm
               ? take_head(root, &c->scoring, err)
               : 0;
}
