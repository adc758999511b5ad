#include "cli/mcp/mcp_tools.h"

#include <math.h>
#include <string.h>

#include "base/suggest.h"

/* ---- The table ---- */

#define END                                                                    \
    {                                                                          \
        NULL, MCP_TEXT, false, NULL, NULL, 0                                   \
    }
#define KINDS "paragraph|code|table|list|quote|note|math|figure|definition"
#define MANUALS                                                                \
    {                                                                          \
        "manuals", MCP_TEXTS, false,                                           \
            "only these manuals, by name; without it all are asked", NULL, 0   \
    }
#define UNDER                                                                  \
    {                                                                          \
        "under", MCP_TEXT, false, "only this section and what is below it",    \
            NULL, 0                                                            \
    }
#define RESULTS                                                                \
    {                                                                          \
        "n", MCP_NUMBER, false, "maximum number of results", NULL, 0           \
    }
#define KIND                                                                   \
    {                                                                          \
        "kind", MCP_CHOICE, false, "only sections with a block of this kind",  \
            KINDS, 0                                                           \
    }

static const struct mcp_param search_params[] = {
    {"query", MCP_TEXT, true,
     "words, a name as a function or a setting, or a question", NULL, 0},
    MANUALS,
    UNDER,
    RESULTS,
    KIND,
    {"mode", MCP_CHOICE, false,
     "all rankings fused, down the tree, by meaning, by words",
     "auto|tree|dense|lexical", 0},
    END};
static const struct mcp_param ask_params[] = {
    {"query", MCP_TEXT, true, "the question", NULL, 0},
    MANUALS,
    UNDER,
    {"n", MCP_NUMBER, false,
     "maximum number of sections quoted (4, and never more than 20)", NULL, 0},
    KIND,
    {"answer", MCP_CHOICE, false,
     "auto: written by the model if it holds, else quoted passages; generated: "
     "always; passages: never",
     "auto|generated|passages", 0},
    END};
static const struct mcp_param grep_params[] = {
    {"pattern", MCP_TEXT, true,
     "a regular expression, as of Perl; (?i) first: capitals and small letters "
     "are the same",
     NULL, 0},
    MANUALS,
    UNDER,
    {"n", MCP_NUMBER, false, "maximum number of lines", NULL, 0},
    END};
static const struct mcp_param toc_params[] = {
    {"manual", MCP_TEXT, false, "the manual's name", NULL, 0},
    {"node", MCP_TEXT, false, "only this section and what is below it", NULL,
     0},
    {"depth", MCP_NUMBER, false, "levels to show", NULL, 2},
    END};
static const struct mcp_param get_params[] = {
    {"node", MCP_TEXT, true, "the section's id, as search, ask and toc have it",
     NULL, 0},
    END};
static const struct mcp_param quote_params[] = {
    {"node", MCP_TEXT, true, "id of the section that is cited", NULL, 0},
    {"quote", MCP_TEXT, true, "the words that should stand there", NULL, 0},
    END};

static const char *const get_hidden[] = {"origins", "refs", NULL};
static const char *const search_hidden[] = {"terms", NULL};

static cJSON *list_sections(cJSON *result);

const struct mcp_tool mcp_tools[] = {
    {"search", "Search manuals",
     "Finds sections of the indexed manuals, best first, each with its id "
     "(node), path of titles, file, anchor and text. Names of functions, "
     "options, settings and error codes have their definition first.",
     "search", search_params, "results", "get", search_hidden, NULL},
    {"ask", "Ask manuals",
     "Answers a question from the manuals with citations, each quoted word for "
     "word from its file. kind is none where the manuals do not answer it.",
     "ask", ask_params, "citations", "get", search_hidden, NULL},
    {"grep", "Find lines",
     "Lists the lines of sections that a regular expression matches, in the "
     "order of the manuals, each with its section's id (node), path of titles, "
     "file and anchor; match: the bytes of text that it matches. For exact "
     "spellings; search is for words and questions.",
     "grep", grep_params, "results", NULL, NULL, NULL},
    {"toc", "Table of contents",
     "Lists the sections of a manual, or below one section, or where neither "
     "is named of all manuals, in order, each with its id (node), level and "
     "title; cut: there are more below it.",
     "toc", toc_params, "sections", NULL, NULL, list_sections},
    {"get", "Read a section",
     "Reads a section whole: its blocks in order (paragraphs, code, tables), "
     "each with its file and span of bytes.",
     "get", get_params, "blocks", NULL, get_hidden, NULL},
    {"verify_citation", "Verify a citation",
     "Says whether a quote stands in a section, in its file as it is now: "
     "status is verified (word for word), repaired (nearly: quote has the true "
     "words; no number, name or negation differs), stored (the manual came "
     "without its files) or unverified (nearest, if there: what stands there "
     "instead).",
     "quote", quote_params, NULL, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

const struct mcp_tool *mcp_tool_find(const char *name)
{
    const struct mcp_tool *tool = mcp_tools;
    while (tool->name && strcmp(tool->name, name))
        tool++;
    return tool->name ? tool : NULL;
}

/* ---- Shapes ---- */

static void list_below(const cJSON *node, cJSON *sections)
{
    const cJSON *child;
    const char *id = json_get_text(node, "id", "");
    if (id[0]) {
        cJSON *section = cJSON_CreateObject();
        cJSON_AddStringToObject(section, "node", id);
        cJSON_AddNumberToObject(section, "level",
                                (double)json_get_int(node, "level", 0));
        cJSON_AddStringToObject(section, "title",
                                json_get_text(node, "title", ""));
        if (json_get_bool(node, "cut", false))
            cJSON_AddTrueToObject(section, "cut");
        cJSON_AddItemToArray(sections, section);
    }
    cJSON_ArrayForEach (child,
                        cJSON_GetObjectItemCaseSensitive(node, "children"))
        list_below(child, sections);
}

/* A table of contents as a list, for nested ones cannot be cut into pages. */
static cJSON *list_sections(cJSON *result)
{
    static const char *const kept[] = {"manual", "generation", "fresh",
                                       "damaged"};
    cJSON *listed = cJSON_CreateObject();
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        cJSON *member =
            cJSON_DetachItemFromObjectCaseSensitive(result, kept[i]);
        if (member)
            cJSON_AddItemToObject(listed, kept[i], member);
    }
    list_below(result, cJSON_AddArrayToObject(listed, "sections"));
    cJSON_Delete(result);
    return listed;
}

/* ---- Schemas ---- */

static void put_choices(struct json *json, const char *choices)
{
    json_key(json, "enum");
    json_begin(json, '[');
    for (const char *at = choices; at; at = strchr(at, '|')) {
        at += *at == '|';
        json_string(json, (struct slice){at, strcspn(at, "|")});
    }
    json_end(json, ']');
}

static void put_kind(struct json *json, const struct mcp_param *param)
{
    switch (param->kind) {
    case MCP_TEXT: json_field_text(json, "type", "string"); break;
    case MCP_TEXTS:
        json_field_text(json, "type", "array");
        json_key(json, "items");
        json_raw(json, slice_of("{\"type\":\"string\"}"));
        break;
    case MCP_NUMBER:
        json_field_text(json, "type", "integer");
        json_field_int(json, "minimum", 1);
        if (param->fallback)
            json_field_int(json, "default", param->fallback);
        break;
    case MCP_CHOICE:
        json_field_text(json, "type", "string");
        put_choices(json, param->choices);
        break;
    }
}

static void put_property(struct json *json, const char *name, const char *type,
                         const char *help)
{
    json_key(json, name);
    json_begin(json, '{');
    json_field_text(json, "type", type);
    json_field_text(json, "description", help);
    json_end(json, '}');
}

static void put_input(struct json *json, const struct mcp_tool *tool)
{
    const struct mcp_param *param;
    json_begin(json, '{');
    json_field_text(json, "type", "object");
    json_key(json, "properties");
    json_begin(json, '{');
    for (param = tool->params; param->name; param++) {
        json_key(json, param->name);
        json_begin(json, '{');
        put_kind(json, param);
        json_field_text(json, "description", param->help);
        json_end(json, '}');
    }
    if (tool->pages)
        put_property(json, "cursor", "string",
                     "to go on: next of the result before, with the same "
                     "arguments");
    json_end(json, '}');
    json_key(json, "required");
    json_begin(json, '[');
    for (param = tool->params; param->name; param++)
        if (param->required)
            json_text(json, param->name);
    json_end(json, ']');
    json_field_bool(json, "additionalProperties", false);
    json_end(json, '}');
}

static void put_output(struct json *json, const struct mcp_tool *tool)
{
    json_begin(json, '{');
    json_field_text(json, "type", "object");
    json_key(json, "properties");
    json_begin(json, '{');
    put_property(
        json, "fresh", "boolean",
        "false: files have changed since they were read, or are not here");
    if (tool->pages) {
        put_property(json, tool->pages, "array",
                     "what was found; an item with cut has only the start of "
                     "its text");
        put_property(json, "next", "string",
                     "there is more: the cursor to go on with");
    }
    json_end(json, '}');
    json_key(json, "required");
    json_begin(json, '[');
    json_text(json, "fresh");
    json_end(json, ']');
    json_end(json, '}');
}

void mcp_tools_put(struct json *json)
{
    json_begin(json, '[');
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++) {
        json_begin(json, '{');
        json_field_text(json, "name", tool->name);
        json_field_text(json, "title", tool->title);
        json_field_text(json, "description", tool->description);
        json_key(json, "inputSchema");
        put_input(json, tool);
        json_key(json, "outputSchema");
        put_output(json, tool);
        json_key(json, "annotations");
        json_raw(json, slice_of("{\"readOnlyHint\":true,\"openWorldHint\":"
                                "false}"));
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* ---- Arguments ---- */

static bool is_choice(const char *choices, const cJSON *value)
{
    size_t size = cJSON_IsString(value) ? strlen(value->valuestring) : 0;
    for (const char *at = size ? choices : NULL; at; at = strchr(at, '|')) {
        at += *at == '|';
        if (strcspn(at, "|") == size && !memcmp(at, value->valuestring, size))
            return true;
    }
    return false;
}

static bool is_texts(const cJSON *value)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, value)
        if (!cJSON_IsString(item))
            return false;
    return cJSON_IsArray(value);
}

static bool is_number(const cJSON *value)
{
    return cJSON_IsNumber(value) && value->valuedouble >= 1 &&
           value->valuedouble <= INT32_MAX &&
           floor(value->valuedouble) >= value->valuedouble;
}

static int check(const struct mcp_param *param, const cJSON *value,
                 struct err *err)
{
    const char *name = param->name;
    switch (param->kind) {
    case MCP_TEXT:
        return cJSON_IsString(value)
                   ? 0
                   : err_set(err, ERR_USAGE, "%s must be a string", name);
    case MCP_TEXTS:
        return is_texts(value)
                   ? 0
                   : err_set(err, ERR_USAGE, "%s must be an array of strings",
                             name);
    case MCP_NUMBER:
        return is_number(value)
                   ? 0
                   : err_set(err, ERR_USAGE,
                             "%s must be a whole number from 1 on", name);
    case MCP_CHOICE: break;
    }
    return is_choice(param->choices, value)
               ? 0
               : err_set(err, ERR_USAGE, "%s must be one of %s", name,
                         param->choices);
}

static int check_known(const struct mcp_tool *tool, const cJSON *arguments,
                       struct err *err)
{
    const cJSON *value;
    cJSON_ArrayForEach (value, arguments) {
        struct nearest nearest = suggest_nearest(value->string);
        const struct mcp_param *param = tool->params;
        if (tool->pages && !strcmp(value->string, "cursor")) {
            if (!cJSON_IsString(value) && !cJSON_IsNull(value))
                return err_set(err, ERR_USAGE, "cursor must be a string");
            continue;
        }
        for (; param->name && strcmp(param->name, value->string); param++)
            nearest_try(&nearest, param->name);
        if (!param->name)
            return err_set(err, ERR_USAGE, "%s takes no argument '%.100s'%s",
                           tool->name, value->string, suggest_hint(&nearest));
    }
    return 0;
}

/* As the daemon reads it. */
static void put_value(struct json *json, const struct mcp_param *param,
                      const cJSON *value)
{
    if (!value && !param->fallback)
        return;
    json_key(json, param->name);
    if (!value) {
        json_int(json, param->fallback);
        return;
    }
    char *text = cJSON_PrintUnformatted(value);
    json_raw(json, slice_of(text));
    cJSON_free(text);
}

int mcp_tool_params(const struct mcp_tool *tool, const cJSON *arguments,
                    struct json *json, struct err *err)
{
    int code = check_known(tool, arguments, err);
    json_begin(json, '{');
    for (const struct mcp_param *param = tool->params; !code && param->name;
         param++) {
        const cJSON *value =
            cJSON_GetObjectItemCaseSensitive(arguments, param->name);
        if (cJSON_IsNull(value))
            value = NULL;
        if (value)
            code = check(param, value, err);
        else if (param->required)
            code = err_set(err, ERR_USAGE, "%s needs the argument '%s'",
                           tool->name, param->name);
        if (!code)
            put_value(json, param, value);
    }
    json_end(json, '}');
    return code;
}
