/* Verbs that other readers are asked for as well (other_readers.h).  Asked with the
 * parameter `local` a daemon asks nobody in turn, and names that it has no manual of
 * are left out ("unheld") instead of an error.  Without other readers they are the
 * verbs themselves. */
#ifndef DAEMON_FLEET_WITH_OTHERS_H
#define DAEMON_FLEET_WITH_OTHERS_H

#include "daemon/fleet/other_readers.h"
#include "daemon/verbs/verbs.h"

/* The manuals that a call names, by whether they are held here. */
struct named {
    bool any;             /* it names some */
    cJSON *held, *unheld; /* arrays of names */
};
void named_read(const struct call *call, struct named *ret);
void named_free(struct named *named);

/* The call's parameters for this daemon (`there` false) or another reader, to be freed
 * with cJSON_Delete. */
cJSON *named_params(const struct call *call, const struct named *named,
                    bool there);

/* Checks that each name is a manual's of one who answered.  ERR_UNREACHABLE: who did not
 * may have it; ERR_USAGE as the verb has it: nobody does. */
int named_check(struct call *call, const struct named *named,
                const struct reader_answer *answers, size_t count,
                verb_run *run, struct err *err);

/* Whether this daemon has a manual of that name; `context`: the call. */
bool others_hold(void *context, const char *manual);

/* Runs a verb with other parameters, as a value to be freed with cJSON_Delete. */
int others_run(const struct call *call, verb_run *run, const cJSON *params,
               cJSON **ret, struct err *err);
void others_put(struct json *json, const cJSON *value);

/* search_others.c: searches the manuals of these names that are held here, or, where none is
 * named, all. */
int search_held(const struct call *call, const struct named *named, cJSON **ret,
                struct err *err);

/* Whether a request, whose parameters nobody has looked at yet, may wait for other readers
 * where there are any.  Never one that these ask here. */
bool others_may_wait(const struct request *request);

/* Asks the reader that the node in the parameter `key` is of.  *ret_done false: it is
 * this daemon's, and nothing was done. */
int others_relay(const struct call *call, const char *key, int64_t ms,
                 struct json *json, bool *ret_done, struct err *err);

verb_run search_with_others;               /* search_others.c */
verb_run ask_with_others;                  /* ask_others.c */
verb_run toc_with_others, get_with_others; /* read_others.c */
verb_run open_with_others, quote_with_others;

#endif
