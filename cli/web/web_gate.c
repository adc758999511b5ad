#include "cli/web/web_gate.h"

#include <string.h>
#include <strings.h>

enum { HTTP_PORT = 80 };

/* In a time that says nothing of where they differ. */
static bool is_token(const struct web *web, const char *text, size_t size)
{
    unsigned char differ = 0;
    if (size != WEB_TOKEN - 1)
        return false;
    for (size_t i = 0; i < size; i++)
        differ |= (unsigned char)(text[i] ^ web->token[i]);
    return !differ;
}

/* HOST:PORT, under the names that cannot be another machine's; HTTP's own port goes
 * without saying. */
static bool is_authority(const struct web *web, const char *text)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    char authority[32];
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        snprintf(authority, sizeof authority, "%s:%u", hosts[i], web->port);
        if (!strcmp(text, authority) ||
            (web->port == HTTP_PORT && !strcmp(text, hosts[i])))
            return true;
    }
    return false;
}

static const char *header_of(struct MHD_Connection *connection,
                             const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

bool gate_is_ours(const struct web *web, struct MHD_Connection *connection)
{
    static const char scheme[] = "http://";
    const char *host = header_of(connection, MHD_HTTP_HEADER_HOST);
    const char *origin = header_of(connection, MHD_HTTP_HEADER_ORIGIN);
    if (!host || !is_authority(web, host))
        return false;
    return !origin || (!strncmp(origin, scheme, sizeof scheme - 1) &&
                       is_authority(web, origin + sizeof scheme - 1));
}

const char *gate_path(const struct web *web, struct MHD_Connection *connection,
                      const char *path)
{
    static const char bearer[] = "Bearer ";
    const char *given = header_of(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    if (given && !strncasecmp(given, bearer, sizeof bearer - 1)) {
        given += sizeof bearer - 1;
        return is_token(web, given, strlen(given)) ? path : NULL;
    }
    size_t size = path[0] == '/' ? strcspn(path + 1, "/") : 0;
    return is_token(web, path + 1, size) && path[1 + size] ? path + 1 + size
                                                           : NULL;
}
