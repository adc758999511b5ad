/* What lectern-fleet asks the daemon, and a signal that comes at the worst time. */
#include "tests/unit/support/unit.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/fleet/fleet.h"

static bool over;
static int polls;

bool fleet_is_over(void)
{
    return over;
}

/* In the place of the C library's: the signal is handled after fleet_is_over was asked,
 * so that it interrupts nothing. */
int poll(struct pollfd *fds, nfds_t count, int ms)
{
    over = true;
    polls++;
    return (int)syscall(SYS_poll, fds, count, ms);
}

static void a_signal_before_the_wait_ends_it(void **state)
{
    enum { PATIENCE_S = 10 };
    struct err err = {0};
    struct fleet fleet = {.daemon = {.fd = -1}};
    cJSON *result = NULL;
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
                     0);
    fleet.daemon.fd = ends[0];
    alarm(PATIENCE_S);
    int code = fleet_call(&fleet, "unpack", slice_of("{}"), NULL, NULL, 0,
                          &result, &err);
    alarm(0);
    assert_int_equal(code, ERR_CANCELLED);
    assert_true(polls > 0 && !result);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_before_the_wait_ends_it),
    };
    return cmocka_run_group_tests_name("daemon_call", tests, NULL, NULL);
}
