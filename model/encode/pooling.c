#include "model/encode/pooling.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "model/json_members.h"

enum { MAX_FILE = 1 << 20 };

static const char *const names[] = {[POOLING_LAST] = "last",
                                    [POOLING_MEAN] = "mean",
                                    [POOLING_FIRST] = "first"};
enum { KINDS = sizeof names / sizeof names[0] };

const char *pooling_name(int kind)
{
    return names[kind];
}

/* Reads folder/name and hands it to `take`; a file that is absent says nothing,
 * unless it is `needed`. */
static int with_file(const char *folder, const char *name, bool needed,
                     int (*take)(const char *folder, const cJSON *root,
                                 struct pooling *ret, struct err *err),
                     struct pooling *ret, struct err *err)
{
    struct buf path = {0}, text = {0};
    struct stat st;
    cJSON *root = NULL;
    file_join(&path, folder, name);
    int code = 0;
    if (needed || stat(path.data, &st) == 0) {
        code = file_read(path.data, MAX_FILE, &text, err);
        if (!code)
            code = json_parse(buf_slice(&text), &root, err);
        if (!code)
            code = take(folder, root, ret, err);
        if (code && err)
            err_at(err, path.data);
    }
    cJSON_Delete(root);
    buf_free(&text);
    buf_free(&path);
    return code;
}

/* ---- 1_Pooling/config.json ---- */

/* The names of kinds there: in flags, and as a value. */
static const struct {
    const char *flag, *mode;
    int kind; /* -1: not supported */
} modes[] = {
    {"pooling_mode_cls_token", "cls", POOLING_FIRST},
    {"pooling_mode_mean_tokens", "mean", POOLING_MEAN},
    {"pooling_mode_lasttoken", "lasttoken", POOLING_LAST},
    {"pooling_mode_max_tokens", "max", -1},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", -1},
    {"pooling_mode_weightedmean_tokens", "weightedmean", -1},
};
enum { MODES = sizeof modes / sizeof modes[0] };

static int take_mode(size_t mode, struct pooling *ret, struct err *err)
{
    if (modes[mode].kind < 0)
        return err_set(err, ERR_FORMAT, "the pooling \"%s\" is not supported",
                       modes[mode].mode);
    ret->kind = modes[mode].kind;
    return 0;
}

static int take_flags(const cJSON *root, struct pooling *ret, struct err *err)
{
    size_t found = MODES;
    for (size_t i = 0; i < MODES; i++) {
        bool on = false;
        int code = member_bool(root, modes[i].flag, &on, err);
        if (code)
            return code;
        if (on && found < MODES)
            return err_set(err, ERR_FORMAT,
                           "two kinds of pooling, %s and %s, are not supported",
                           modes[found].mode, modes[i].mode);
        found = on ? i : found;
    }
    if (found == MODES)
        return err_set(err, ERR_FORMAT, "it names no kind of pooling");
    return take_mode(found, ret, err);
}

static int take_pooling(const char *folder, const cJSON *root,
                        struct pooling *ret, struct err *err)
{
    const char *mode = NULL;
    bool prompt = true;
    (void)folder;
    int code = member_text(root, "pooling_mode", &mode, err);
    if (!code)
        code = member_bool(root, "include_prompt", &prompt, err);
    if (!code && !prompt)
        code = err_set(err, ERR_FORMAT,
                       "pooling without the prompt is not supported");
    if (code || !mode)
        return code ? code : take_flags(root, ret, err);
    for (size_t i = 0; i < MODES; i++)
        if (!strcmp(mode, modes[i].mode))
            return take_mode(i, ret, err);
    return err_set(err, ERR_FORMAT, "the pooling \"%.60s\" is not supported",
                   mode);
}

/* ---- The other files ---- */

static int take_module(const char *folder, const cJSON *module,
                       struct pooling *ret, struct err *err)
{
    const char *type = json_get_text(module, "type", "");
    const char *path = json_get_text(module, "path", "");
    const char *dot = strrchr(type, '.'), *kind = dot ? dot + 1 : type;
    struct buf name = {0};
    int code = 0;
    if (!strcmp(kind, "Transformer"))
        return 0;
    if (!strcmp(kind, "Normalize")) {
        ret->unit = true;
        return 0;
    }
    if (strcmp(kind, "Pooling") != 0)
        return err_set(err, ERR_FORMAT, "the module \"%.60s\" is not supported",
                       kind);
    if (path[0] == '/' || strstr(path, ".."))
        return err_set(err, ERR_FORMAT, "the path \"%.60s\" leads elsewhere",
                       path);
    buf_printf(&name, "%s%sconfig.json", path, path[0] ? "/" : "");
    code = with_file(folder, name.data, true, take_pooling, ret, err);
    buf_free(&name);
    return code;
}

static int take_modules(const char *folder, const cJSON *root,
                        struct pooling *ret, struct err *err)
{
    const cJSON *module;
    int code = 0;
    if (!cJSON_IsArray(root))
        return err_set(err, ERR_FORMAT, "it is not a list of modules");
    ret->only = true;
    cJSON_ArrayForEach (module, root) {
        code = take_module(folder, module, ret, err);
        if (code)
            break;
    }
    return code;
}

static int take_limit(const char *folder, const cJSON *root,
                      struct pooling *ret, struct err *err)
{
    (void)folder;
    int code = member_bool(root, "do_lower_case", &ret->lower, err);
    if (code || !member_find(root, "max_seq_length"))
        return code;
    return member_size(root, "max_seq_length", 1, 1 << 30, -1, &ret->max, err);
}

/* NULL and "" are the same: nothing. */
static int take_prefix(const cJSON *object, const char *name, char **ret,
                       struct err *err)
{
    const char *text = NULL;
    int code = member_text(object, name, &text, err);
    if (code || !text)
        return code;
    free(*ret);
    *ret = text[0] ? mem_strdup(text) : NULL;
    return 0;
}

static int take_prompts(const char *folder, const cJSON *root,
                        struct pooling *ret, struct err *err)
{
    const cJSON *prompts = member_find(root, "prompts");
    (void)folder;
    int code = take_prefix(prompts, "query", &ret->query, err);
    if (!code)
        code = take_prefix(prompts, "passage", &ret->passage, err);
    if (!code)
        code = take_prefix(prompts, "document", &ret->passage, err);
    return code;
}

static int take_lectern(const cJSON *object, struct pooling *ret,
                        struct err *err)
{
    const char *kind = NULL;
    int code = take_prefix(object, "query_prefix", &ret->query, err), found = 0;
    if (!code)
        code = take_prefix(object, "passage_prefix", &ret->passage, err);
    if (!code)
        code = member_text(object, "pooling", &kind, err);
    if (code || !kind)
        return code;
    while (found < KINDS && strcmp(kind, names[found]) != 0)
        found++;
    if (found == KINDS)
        return member_not(err, "pooling", "mean, first or last");
    ret->kind = found;
    return 0;
}

static int take_own(const cJSON *root, struct pooling *ret, struct err *err)
{
    return take_lectern(member_find(root, "lectern"), ret, err);
}

static int take_bag(const cJSON *root, struct pooling *ret, struct err *err)
{
    return member_bool(root, "normalize", &ret->unit, err);
}

static int take_config(struct slice config,
                       int (*take)(const cJSON *root, struct pooling *ret,
                                   struct err *err),
                       struct pooling *ret, struct err *err)
{
    cJSON *root;
    int code = json_parse(config, &root, err);
    if (code)
        return code;
    code = take(root, ret, err);
    cJSON_Delete(root);
    return code;
}

int pooling_from(const char *folder, struct slice config, bool encoder,
                 struct pooling *ret, struct err *err)
{
    struct pooling p = {.kind = encoder ? POOLING_MEAN : POOLING_LAST};
    int code = with_file(folder, "modules.json", false, take_modules, &p, err);
    if (!code)
        code = with_file(folder, "sentence_bert_config.json", false, take_limit,
                         &p, err);
    if (!code)
        code = with_file(folder, "config_sentence_transformers.json", false,
                         take_prompts, &p, err);
    if (!code)
        code = take_config(config, take_own, &p, err);
    if (code)
        pooling_free(&p);
    else
        *ret = p;
    return code;
}

int pooling_of_bag(struct slice config, struct pooling *ret, struct err *err)
{
    *ret = (struct pooling){.only = true, .kind = POOLING_MEAN};
    return take_config(config, take_bag, ret, err);
}

/* ---- GGUF ---- */

/* -1: of no kind that is supported.  False: the file does not say. */
static bool gguf_kind(const struct gguf *gguf, const char *architecture,
                      int *ret)
{
    static const int kinds[] = {-1, POOLING_MEAN, POOLING_FIRST, POOLING_LAST,
                                POOLING_FIRST /* of a reranker */};
    enum { COUNT = sizeof kinds / sizeof kinds[0] };
    char key[96];
    double type = -1;
    snprintf(key, sizeof key, "%s.pooling_type", architecture);
    const struct gguf_value *v = gguf_find(gguf, key);
    if (!v || (gguf_number(v, 0, &type) && type == 0))
        return false;
    bool known = type > 0 && type < COUNT && type == (double)(int)type;
    *ret = known ? kinds[(int)type] : -1;
    return true;
}

int pooling_of_gguf(const struct gguf *gguf,
                    const struct architecture *architecture,
                    struct pooling *ret, struct err *err)
{
    const char *query = architecture->query_prefix;
    const char *passage = architecture->passage_prefix;
    struct pooling p = {.kind = architecture->encoder ? POOLING_MEAN
                                                      : POOLING_LAST};
    p.only = gguf_kind(gguf, architecture->type, &p.kind);
    if (p.kind < 0)
        return err_set(err, ERR_FORMAT,
                       "%s.pooling_type is not none, mean, cls, last or rank",
                       architecture->type);
    p.unit = p.only || architecture->encoder;
    if (p.unit && query)
        p.query = mem_strdup(query);
    if (p.unit && passage)
        p.passage = mem_strdup(passage);
    *ret = p;
    return 0;
}

void pooling_free(struct pooling *pooling)
{
    free(pooling->query);
    free(pooling->passage);
    *pooling = (struct pooling){0};
}

struct hash128 pooling_hash(const struct pooling *p)
{
    struct buf text = {0};
    if (p->kind == POOLING_LAST && !p->unit && !p->max && !p->passage)
        return (struct hash128){0};
    buf_put_varint(&text, (uint64_t)p->kind);
    buf_put_varint(&text, p->unit);
    buf_put_varint(&text, p->max);
    buf_put_string(&text, slice_of(p->passage ? p->passage : ""));
    struct hash128 hash = hash_bytes(text.data, text.size);
    buf_free(&text);
    return hash;
}
