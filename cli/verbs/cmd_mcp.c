#include "cli/cli.h"
#include "cli/mcp/mcp.h"

int cmd_mcp(struct cli *cli, struct err *err)
{
    return mcp_serve(cli, err);
}
