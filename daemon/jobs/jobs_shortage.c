/* A shortage of memory: jobs give way, so that what is asked ends well from what is
 * set aside (base/spare.h). */
#include "base/spare.h"
#include "daemon/jobs/jobs_internal.h"

void jobs_on_shortage(void *context)
{
    struct jobs *jobs = context;
    atomic_store(&jobs->shortage, true);
    atomic_store(&jobs->cancel, true);
}

static int short_of_memory(struct err *err)
{
    return err_set(err, ERR_BUSY,
                   "the daemon is out of memory; it goes on by itself once "
                   "there is some: give it more, or index less at once");
}

int jobs_may_begin(struct jobs *jobs, struct err *err)
{
    atomic_store(&jobs->shortage, false);
    return spare_is_low() ? short_of_memory(err) : 0;
}

int jobs_why_ended(struct jobs *jobs, int code, struct err *err)
{
    bool was_short = atomic_exchange(&jobs->shortage, false);
    return code == ERR_CANCELLED && was_short ? short_of_memory(err) : code;
}
