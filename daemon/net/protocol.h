/* The protocol between the daemon and its clients.
 *
 * JSON-RPC 2.0 over a Unix stream socket, one object a line, UTF-8:
 *     {"jsonrpc":"2.0","id":1,"method":"search","params":{"query":"..."}}
 *     {"jsonrpc":"2.0","id":1,"result":{...}}
 *     {"jsonrpc":"2.0","id":1,"error":{"code":-8,"message":"...",
 *      "data":{"code":"store","message":"...","path":"...","position":n}}}
 * `method` is a verb of the command line, `result` its --json object
 * (docs/reference/protocol.md: what it holds); the
 * error's code is an `enum err_code`, or JSON-RPC's own (-32700 not JSON,
 * -32600 not a request, -32601 no such method).  Between a request and its
 * result the daemon may send notifications that carry the request's id:
 *     {"jsonrpc":"2.0","method":"progress","params":{"id":1,"manual":"..",
 *      "phase":"scan|parse|assemble|store|memories","done":n,"total":n}}
 * and of an `ask` with "stream", in this order and all before its result:
 *     {"jsonrpc":"2.0","method":"event","params":{"id":1,"event":"route",
 *      "route":[...]}}                          what was found
 *     ... "event":"token","text":"..."          the answer's text, in pieces;
 *                                               of a citation that is repaired
 *                                               the result has other words
 *     ... "event":"citation","n":1,...          each, checked
 * Where a model's answer may still give way to passages ("answer": "auto"), no
 * token comes before it was checked.
 * {"method":"cancel","params":{"id":1}} stops a request of the same
 * connection; it then ends with the error `cancelled`.
 *
 * Verbs and parameters (all optional unless marked *):
 *   add     *dir (absolute), name, ignore: [glob], wait: bool,
 *           follow_links: bool (also out of the folder), moves: bool (the manual
 *           of that name leaves its folder for this one), check: bool (only
 *           whether it could be added); what is not given stays as the folder's
 *           manual has it
 *   rm      *manual                     ls
 *   search  *query, manual, manuals: [names], under, file, n, mode, kind,
 *           explain, expand, weights: [at most five numbers], strict, local: bool (no
 *           other reader is asked; names of what is not held here are left out),
 *           typing (the query's last word may be only its beginning)
 *   ask     *query, manual, manuals, under, file, n, mode, kind, explain, expand, weights,
 *           local, answer, extent, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty,
 *           seed, stop: [texts], stream: bool, strict, session (a name: what it
 *           asks may follow up what was asked under that name before), context (a
 *           number of tokens: all below `under` is read, in so many at most)
 *   whole   *query, *method (full, hmt), manual, under, file, max_tokens: an
 *           answer from a document as a whole, for comparison
 *   grep    *pattern, manual, manuals, under, n, ignore_case
 *   toc     node, manual, depth, local      get  *node, all: bool
 *   quote   *node, *quote: whether a text stands in a section
 *   embed   *texts: [texts]: their vectors, as those of sections are made
 *   rank    *query, *texts: [texts]: how well each answers, by the reranker
 *   update  manual, wait: bool, force   wait  manual
 *   open    *node, file, at: a place in a file of its manual, in bytes, instead of
 *           where the section begins
 *   model   folder, use: bool, for
 *   status  open: bool (the model is opened first, or tried), config: bool
 *   failed  manual, retry: bool, excluded: bool, left_out: bool (its former name)
 *   verify  manual, repair: bool        backup  *dir
 *   compact                             cancel  *id
 *   pack    *manual, *file, key, files: bool
 *   unpack  *file, name, dir, into (a folder that is made for the pack's files, if
 *           it has any), replaces (the root of the manual of that name: it may
 *           have one), untrusted: bool
 *   stop    (ends the daemon)
 * A name of a parameter that is not listed is an error. */
#ifndef DAEMON_NET_PROTOCOL_H
#define DAEMON_NET_PROTOCOL_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    PROTOCOL_MAX_REQUEST = 1 << 20, /* bytes of one request line */
    PROTOCOL_MAX_CLIENTS = 64,
    PROTOCOL_MAX_QUOTED = 20, /* sections of one answer of ask, be `n` more */
    PROTOCOL_MAX_PATH = 107   /* bytes of a socket's path */
};

/* Checks that the path fits into a socket address: ERR_USAGE. */
int protocol_check_path(const char *path, struct err *err);

#endif
