#include "daemon/verbs/verbs.h"

#include <math.h>

#include "base/suggest.h"
#include "daemon/fleet/with_others.h"

enum {
    MAX_HITS = 1000,
    MAX_TEXT = 1 << 16,
    MAX_LEVELS = 100000,
    MAX_TOKENS = 4096,
    MAX_CONTEXT = 1 << 20,
    MAX_TOP_K = 1000000,
    MAX_SAMPLING = 100
};

/* clang-format off */
#define END {NULL, PARAM_ANY, false, 0, 0}
#define TEXT(name) {name, PARAM_TEXT, false, 0, 0}
#define NEEDED_TEXT(name) {name, PARAM_TEXT, true, 0, 0}
#define BOOL(name) {name, PARAM_BOOL, false, 0, 0}
#define NUMBER(name, max) {name, PARAM_NUMBER, false, 0, max}
#define INT(name, min, max) {name, PARAM_INT, false, min, max}
#define SEARCHING                                                        \
    NEEDED_TEXT("query"), TEXT("manual"), {"manuals", PARAM_TEXTS, false, 0, 0}, \
        TEXT("under"), TEXT("file"), INT("n", 1, MAX_HITS), TEXT("mode"), TEXT("kind"), BOOL("explain"), BOOL("expand"), BOOL("local"), \
        {"weights", PARAM_ANY, false, 0, 0}

static const struct param no_params[] = {END};
static const struct param add_params[] = {
    NEEDED_TEXT("dir"), TEXT("name"),
    {"ignore", PARAM_TEXTS, false, 0, 0}, BOOL("wait"), BOOL("follow_links"), BOOL("moves"), BOOL("check"),
    END};
static const struct param rm_params[] = {NEEDED_TEXT("manual"), END};
static const struct param search_params[] = {SEARCHING, BOOL("strict"), BOOL("typing"), END};
static const struct param ask_params[] = {
    SEARCHING, TEXT("answer"), TEXT("extent"), INT("max_tokens", 1, MAX_TOKENS),
    NUMBER("temperature", MAX_SAMPLING), INT("top_k", 0, MAX_TOP_K),
    NUMBER("top_p", 1), NUMBER("min_p", 1),
    NUMBER("repetition_penalty", MAX_SAMPLING),
    INT("seed", 0, INT64_C(1) << 53), {"stop", PARAM_TEXTS, false, 0, 0},
    BOOL("stream"), BOOL("strict"), TEXT("session"), INT("context", 256, MAX_CONTEXT), END};
static const struct param whole_params[] = {
    NEEDED_TEXT("query"), NEEDED_TEXT("method"), TEXT("manual"), TEXT("under"),
    TEXT("file"), INT("max_tokens", 1, MAX_TOKENS), END};
static const struct param grep_params[] = {
    NEEDED_TEXT("pattern"), TEXT("manual"), {"manuals", PARAM_TEXTS, false, 0, 0},
    TEXT("under"), INT("n", 1, MAX_HITS), BOOL("ignore_case"), END};
static const struct param toc_params[] = {
    TEXT("node"), TEXT("manual"), INT("depth", 0, MAX_LEVELS), BOOL("local"), END};
static const struct param open_params[] = {
    NEEDED_TEXT("node"), TEXT("file"), INT("at", 0, INT64_C(1) << 53), END};
static const struct param get_params[] = {NEEDED_TEXT("node"), BOOL("all"),
                                          END};
static const struct param quote_params[] = {NEEDED_TEXT("node"),
                                            NEEDED_TEXT("quote"), END};
static const struct param rank_params[] = {NEEDED_TEXT("query"),
                                           {"texts", PARAM_TEXTS, true, 0, 0}, END};
static const struct param embed_params[] = {{"texts", PARAM_TEXTS, true, 0, 0},
                                            END};
static const struct param update_params[] = {TEXT("manual"), BOOL("wait"),
                                             BOOL("force"), END};
static const struct param status_params[] = {BOOL("open"), BOOL("config"), END};
static const struct param manual_params[] = {TEXT("manual"), END};
static const struct param failed_params[] = {TEXT("manual"), BOOL("retry"),
                                             BOOL("excluded"),
                                             BOOL("left_out"), END};
static const struct param verify_params[] = {TEXT("manual"), BOOL("repair"), END};
static const struct param backup_params[] = {NEEDED_TEXT("dir"), END};
static const struct param pack_params[] = {NEEDED_TEXT("manual"), NEEDED_TEXT("file"),
                                           TEXT("key"), BOOL("files"), END};
static const struct param unpack_params[] = {NEEDED_TEXT("file"), TEXT("name"), TEXT("dir"), TEXT("into"), TEXT("replaces"),
                                             BOOL("untrusted"), END};
static const struct param model_params[] = {TEXT("folder"), BOOL("use"),
                                            TEXT("for"), END};
static const struct param cancel_params[] = {{"id", PARAM_ANY, true, 0, 0},
                                             END};

static const struct verb verbs[] = {
    {"add", VERB_WRITE, verb_add, add_params},
    {"ask", VERB_ANSWER, ask_with_others, ask_params},
    {"backup", VERB_MAINTENANCE, verb_backup, backup_params},
    {"cancel", VERB_LOOP, NULL, cancel_params},
    {"compact", VERB_MAINTENANCE, verb_compact, no_params},
    {"embed", VERB_ANSWER, verb_embed, embed_params},
    {"failed", VERB_QUERY, verb_failed, failed_params},
    {"get", VERB_QUERY, get_with_others, get_params},
    {"grep", VERB_QUERY, verb_grep, grep_params},
    {"ls", VERB_QUERY, verb_ls, no_params},
    {"model", VERB_ANSWER, verb_model, model_params},
    {"open", VERB_QUERY, open_with_others, open_params},
    {"pack", VERB_MAINTENANCE, verb_pack, pack_params},
    {"quote", VERB_QUERY, quote_with_others, quote_params},
    {"rank", VERB_ANSWER, verb_rank, rank_params},
    {"rm", VERB_WRITE, verb_rm, rm_params},
    {"search", VERB_QUERY, search_with_others, search_params},
    {"status", VERB_QUERY, verb_status, status_params},
    {"stop", VERB_LOOP, NULL, no_params},
    {"toc", VERB_QUERY, toc_with_others, toc_params},
    {"unpack", VERB_MAINTENANCE, verb_unpack, unpack_params},
    {"update", VERB_WRITE, verb_update, update_params},
    {"verify", VERB_MAINTENANCE, verb_verify, verify_params},
    {"wait", VERB_WRITE, verb_wait, manual_params},
    {"whole", VERB_ANSWER, verb_whole, whole_params},
};
/* clang-format on */

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static int check_text(const struct param *param, const cJSON *value,
                      struct err *err)
{
    if (!cJSON_IsString(value))
        return err_set(err, ERR_USAGE, "%s must be a string", param->name);
    if (strlen(value->valuestring) > MAX_TEXT)
        return err_set(err, ERR_USAGE, "%s has more than %d bytes", param->name,
                       MAX_TEXT);
    return 0;
}

static int check_texts(const struct param *param, const cJSON *value,
                       struct err *err)
{
    const cJSON *item;
    bool right = cJSON_IsArray(value);
    cJSON_ArrayForEach (item, value)
        right = right && cJSON_IsString(item);
    return right ? 0
                 : err_set(err, ERR_USAGE, "%s must be an array of strings",
                           param->name);
}

static int check_int(const struct param *param, const cJSON *value,
                     struct err *err)
{
    double number = value->valuedouble;
    if (cJSON_IsNumber(value) && number >= (double)param->min &&
        number <= (double)param->max && floor(number) >= number)
        return 0;
    return err_set(err, ERR_USAGE,
                   "%s must be a whole number from %lld to %lld", param->name,
                   (long long)param->min, (long long)param->max);
}

static int check_number(const struct param *param, const cJSON *value,
                        struct err *err)
{
    double number = value->valuedouble;
    if (cJSON_IsNumber(value) && number >= (double)param->min &&
        number <= (double)param->max)
        return 0;
    return err_set(err, ERR_USAGE, "%s must be a number from %lld to %lld",
                   param->name, (long long)param->min, (long long)param->max);
}

static int check_value(const struct param *param, const cJSON *value,
                       struct err *err)
{
    switch (param->kind) {
    case PARAM_TEXT: return check_text(param, value, err);
    case PARAM_TEXTS: return check_texts(param, value, err);
    case PARAM_INT: return check_int(param, value, err);
    case PARAM_NUMBER: return check_number(param, value, err);
    case PARAM_BOOL:
        return cJSON_IsBool(value)
                   ? 0
                   : err_set(err, ERR_USAGE, "%s must be true or false",
                             param->name);
    case PARAM_ANY: break;
    }
    return 0;
}

static const struct param *param_find(const struct verb *verb, const char *name)
{
    const struct param *param = verb->params;
    while (param->name && strcmp(param->name, name))
        param++;
    return param->name ? param : NULL;
}

static int unknown(const struct verb *verb, const char *name, struct err *err)
{
    struct nearest nearest = suggest_nearest(name);
    for (const struct param *param = verb->params; param->name; param++)
        nearest_try(&nearest, param->name);
    return err_set(err, ERR_USAGE, "%s takes no parameter '%.100s'%s",
                   verb->name, name, suggest_hint(&nearest));
}

int verb_check(const struct verb *verb, const cJSON *params, struct err *err)
{
    const cJSON *value;
    cJSON_ArrayForEach (value, params) {
        const struct param *param = param_find(verb, value->string);
        if (!param)
            return unknown(verb, value->string, err);
        if (cJSON_IsNull(value) && !param->required)
            continue;
        int code = check_value(param, value, err);
        if (code)
            return code;
    }
    for (const struct param *param = verb->params; param->name; param++)
        if (param->required &&
            !cJSON_GetObjectItemCaseSensitive(params, param->name))
            return err_set(err, ERR_USAGE, "%s needs the parameter '%s'",
                           verb->name, param->name);
    return 0;
}
