/* The tools that an agent may call: one table, from which their schemas, their
 * checks and the daemon's requests are made.  A new tool is a row of it. */
#ifndef CLI_MCP_MCP_TOOLS_H
#define CLI_MCP_MCP_TOOLS_H

#include "base/err.h"
#include "base/json.h"

enum mcp_param_kind {
    MCP_TEXT,
    MCP_TEXTS,  /* an array of texts */
    MCP_NUMBER, /* a whole number from 1 on */
    MCP_CHOICE  /* one of the words of `choices` */
};

struct mcp_param {
    const char *name; /* the daemon's; NULL: end of the list */
    enum mcp_param_kind kind;
    bool required;
    const char *help;
    const char *choices; /* as in "auto|tree" */
    long fallback; /* of a number that is not given; 0: the daemon's own */
};

struct mcp_tool {
    const char *name, *title, *description;
    const char *method; /* verb of the socket */
    const struct mcp_param *params;
    const char *pages; /* member of the result, an array of objects that is cut
                          into pages; NULL: it is never large */
    const char
        *texts; /* what to read long texts of that array's items with; NULL:
                          they are cut into pages as well */
    const char *const *hidden; /* members of the result that are left out; NULL:
                                  none */
    cJSON *(*shape)(
        cJSON *result); /* makes another result of it, NULL: as it is;
                                       takes it over */
};
extern const struct mcp_tool mcp_tools[]; /* ends with a name of NULL */

/* NULL: there is none of that name. */
const struct mcp_tool *mcp_tool_find(const char *name);

/* The `tools` of tools/list as one value. */
void mcp_tools_put(struct json *json);

/* Writes the daemon's parameters as one value.  ERR_USAGE, naming the argument: it
 * is unknown, missing or not of its kind.  `arguments`: an object or NULL. */
int mcp_tool_params(const struct mcp_tool *tool, const cJSON *arguments,
                    struct json *json, struct err *err);

#endif
