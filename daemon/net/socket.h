/* The listening socket: made here or handed over by systemd, and systemd's
 * plain notification protocol. */
#ifndef DAEMON_NET_SOCKET_H
#define DAEMON_NET_SOCKET_H

#include <stdbool.h>

#include "base/err.h"

struct listener {
    int fd;
    char *path; /* removed at the end; NULL: systemd's own */
    int lock;   /* held while `path` is ours; -1: none */
};

/* ERR_USAGE: the path is too long, or another daemon has the socket.  A socket
 * file that nobody answers on is replaced. */
int listener_open(const char *path, struct listener *ret_listener,
                  struct err *err);

/* Removes the socket's file; the descriptor is its user's to close. */
void listener_close(struct listener *listener);

/* "READY=1", "STOPPING=1": tells systemd, if it wants to know. */
void service_notify(const char *state);

/* True when the process at the other end is ours or root's. */
bool peer_is_allowed(int fd);

#endif
