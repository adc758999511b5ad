#include "cli/output/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli/output/terminal.h"

enum { BAR = 24, NARROW = 72 };

static int columns_of_stderr(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

static void put_bar(struct buf *out, int64_t done, int64_t total)
{
    int64_t full = total > 0 && done > 0 ? done * BAR / total : 0;
    buf_put_byte(out, '[');
    for (int i = 0; i < BAR; i++)
        buf_put_byte(out, i < full ? '#' : '-');
    buf_put_text(out, "] ");
}

static void put_left(struct buf *out, double seconds)
{
    if (seconds < 1.5)
        return;
    if (seconds < 90)
        buf_printf(out, "  %.0f s left", seconds);
    else if (seconds < 5400)
        buf_printf(out, "  %.0f min left", seconds / 60);
    else
        buf_printf(out, "  %.1f h left", seconds / 3600);
}

void progress_put_line(struct buf *out, const char *label, int64_t done,
                       int64_t total, double rate, int columns)
{
    struct buf line = {0};
    buf_printf(&line, "%s  ", label);
    if (total > 0 && columns >= NARROW)
        put_bar(&line, done, total);
    if (total > 0)
        buf_printf(&line, "%lld/%lld", (long long)done, (long long)total);
    else
        buf_printf(&line, "%lld", (long long)done);
    if (rate >= 1)
        buf_printf(&line, "  %.0f/s", rate);
    if (rate > 0 && total > done)
        put_left(&line, (double)(total - done) / rate);
    terminal_put_cut(out, buf_slice(&line), columns > 1 ? columns - 1 : 1);
    buf_free(&line);
}

void progress_show(struct progress *progress, const char *label, int64_t done,
                   int64_t total)
{
    double now = clock_seconds();
    if (!progress->on)
        return;
    if (strcmp(progress->label, label) != 0) {
        snprintf(progress->label, sizeof progress->label, "%s", label);
        progress->started = now;
        progress->first = done;
    } else if (now - progress->drawn < 0.1 && done != total) {
        return;
    }
    double seconds = now - progress->started;
    double rate = 0;
    if (seconds > 0.2)
        rate = (double)(done - progress->first) / seconds;
    struct buf line = {0};
    buf_put_text(&line, "\r\033[K");
    progress_put_line(&line, progress->label, done, total, rate,
                      columns_of_stderr());
    fwrite(line.data, 1, line.size, stderr);
    fflush(stderr);
    buf_free(&line);
    progress->drawn = now;
    progress->visible = true;
}

void progress_clear(struct progress *progress)
{
    if (progress->visible) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    progress->visible = false;
}
