#include "daemon/net/protocol.h"

#include <string.h>

int protocol_check_path(const char *path, struct err *err)
{
    size_t size = strlen(path);
    if (size == 0)
        return err_set(err, ERR_USAGE, "the socket's path is empty");
    if (size > PROTOCOL_MAX_PATH)
        return err_set(err, ERR_USAGE,
                       "the socket's path has %zu bytes, more than the %d that "
                       "a socket address holds: %s; choose a shorter one with "
                       "--socket or LECTERN_SOCKET",
                       size, PROTOCOL_MAX_PATH, path);
    return 0;
}
