/* lectern-web: a page to read and ask, and OpenAI's interface, on 127.0.0.1 alone.
 *
 * A process of its own that asks the daemon as any client does; libmicrohttpd is
 * included nowhere else.  A thread serves a connection of a browser, with a connection
 * to the daemon of its own while a request lasts, which ends with it.
 *
 *     browser ──HTTP──► web_server ──► web_gate ──► web_relay ──socket──► lecternd
 *             ◄──────── web_reply ◄─────────────────────────
 *
 * What every request must have (web_gate.h): a Host that is ours, no Origin but ours,
 * and the token, which only this user can read. */
#ifndef CLI_WEB_WEB_H
#define CLI_WEB_WEB_H

#include <stdint.h>

#include "base/config.h"
#include "base/err.h"

enum {
    WEB_PORT = 8417,
    WEB_IDLE_SECONDS = 30, /* until a browser that says nothing is left */
    WEB_TOKEN = 65         /* hexadecimal, with the NUL */
};

struct web {
    struct config config;
    const char
        *config_flag; /* the --config of a daemon that is started, or NULL */
    char token[WEB_TOKEN];
    uint16_t port; /* 0: any that is free */
};

/* Reads this user's token, $XDG_STATE_HOME/lectern/web-token, which is made where
 * there is none.  ERR_IO; ERR_FORMAT: the file holds something else, or others may
 * read it. */
int web_token(char ret_token[WEB_TOKEN], struct err *err);

struct web_server;

/* Listens and serves from then on, in threads of its own, until web_server_stop, which
 * frees it; `web`, whose port it sets, must last as long.  ERR_IO: the port is taken. */
int web_server_start(struct web *web, struct web_server **ret_server,
                     struct err *err);
void web_server_stop(struct web_server *server);

#endif
