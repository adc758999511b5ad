/* Large results in pages: an agent reads its context's worth and goes on with a
 * cursor.  A page is made from the whole result each time; the cursor knows what
 * that was, so that pages of two results are never mixed. */
#ifndef CLI_MCP_MCP_PAGE_H
#define CLI_MCP_MCP_PAGE_H

#include "cli/mcp/mcp_tools.h"

enum {
    MCP_PAGE_BYTES = 24 << 10, /* of the items, as JSON, about */
    MCP_TEXT_BYTES = 2 << 10   /* of an item's text that is read elsewhere */
};

/* Leaves of the tool's result the page at `cursor` (NULL: the first).  Where there
 * is more, the result gets "next"; an item whose text is cut gets "cut".
 * ERR_USAGE: it is no cursor, or not of this result. */
int mcp_page_cut(const struct mcp_tool *tool, const char *cursor, cJSON *result,
                 struct err *err);

#endif
