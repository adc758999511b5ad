#include <unistd.h>

#include "cli/cli.h"
#include "cli/mcp/mcp.h"
#include "cli/output/output.h"

int cmd_mcp(struct cli *cli, struct err *err)
{
    if (isatty(STDIN_FILENO))
        output_remark(cli, "this is for agents, which start it themselves; it "
                           "waits for their requests, Ctrl-D ends it");
    return mcp_serve(cli, err);
}
