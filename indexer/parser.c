#include "indexer/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "indexer/wire.h"

/* A process is retired after so many requests, or when it may have used up
 * `max_seconds`: its limit on processor time is for its whole life, and twice
 * that, so every request has at least its own time. */
enum {
    CANCEL_MS = 100,
    /* how often a cancellation is asked after */ MAX_REQUESTS = 500
};

/* A file has `max_seconds` of processor time: a machine that is busy, or wakes
 * up, is not the file's fault.  But after so many times that it is given up. */
enum { MAX_PATIENCE = 5 };

enum { MAX_ASKED = 20000 };

/* A file that was handed over while a document is parsed. */
struct handed {
    char *path;
    uint64_t size;
};

struct parser {
    char *program;
    uint64_t max_memory;
    uint32_t max_seconds;
    const atomic_bool *cancel;
    pid_t pid; /* 0: no process */
    int socket;
    unsigned requests; /* that this process was asked */
    uint64_t number;   /* of the last request, to any process */
    int64_t busy_ms;   /* that it took for them */
    int64_t deadline;  /* of the request under way, on clock_ms */
    int64_t began;     /* it, on clock_ms */
    int64_t used_ms;   /* of the process's processor time, before it */
    int64_t served_ms; /* of our own, for the files that it asks for */
    const struct parser_inputs *inputs; /* of the request; NULL: none */
    struct handed *handed;              /* [handed_count] */
    size_t handed_count, handed_capacity;
    uint64_t handed_bytes;
};

struct parser *parser_new(const struct parser_options *options)
{
    struct parser *parser = mem_alloc(sizeof *parser);
    parser->program = mem_strdup(options->program);
    parser->max_memory =
        options->max_memory ? options->max_memory : (uint64_t)2 << 30;
    parser->max_seconds = options->max_seconds ? options->max_seconds : 60;
    parser->cancel = options->cancel;
    parser->socket = -1;
    return parser;
}

/* ---- Files that a document includes ---- */

static void forget_handed(struct parser *parser)
{
    while (parser->handed_count)
        free(parser->handed[--parser->handed_count].path);
    parser->handed_bytes = 0;
}

/* ---- The process ---- */

/* Ends the process if it has not ended; returns how it did. */
static int end_process(struct parser *parser, bool at_once)
{
    int status = 0;
    close(parser->socket);
    parser->socket = -1;
    struct timespec pause = {0, 1000000};
    for (int i = 0; !at_once && i < 1000; i++) {
        pid_t pid = waitpid(parser->pid, &status, WNOHANG);
        if (pid == parser->pid || (pid < 0 && errno != EINTR)) {
            parser->pid = 0;
            return status;
        }
        nanosleep(&pause, NULL);
    }
    kill(parser->pid, SIGKILL);
    while (waitpid(parser->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    parser->pid = 0;
    return status;
}

void parser_free(struct parser *parser)
{
    if (!parser)
        return;
    if (parser->pid)
        end_process(parser, true);
    forget_handed(parser);
    free(parser->handed);
    free(parser->program);
    free(parser);
}

static int prepare_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int rc = posix_spawnattr_init(attributes);
    if (rc)
        return rc;
    /* A group of its own: what the terminal sends is for the daemon. */
    short flags =
        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    posix_spawnattr_setflags(attributes, flags);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    return 0;
}

static int prepare_files(posix_spawn_file_actions_t *files, int socket)
{
    int rc = posix_spawn_file_actions_init(files);
    if (rc)
        return rc;
    rc = posix_spawn_file_actions_adddup2(files, socket, WIRE_FD);
    for (int fd = 0; fd < 2 && !rc; fd++)
        rc =
            posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
    if (rc)
        posix_spawn_file_actions_destroy(files);
    return rc;
}

/* The child needs nothing of the environment; sanitizers have options there. */
static char **environment(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    extern char **environ;
    return environ;
#else
    static char *none[] = {NULL};
    return none;
#endif
}

static int spawn(struct parser *parser, int socket, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    char memory[24], seconds[24];
    snprintf(memory, sizeof memory, "%" PRIu64, parser->max_memory);
    snprintf(seconds, sizeof seconds, "%" PRIu64,
             (uint64_t)2 * parser->max_seconds + 1);
    char name[] = "lectern-parse";
    char *arguments[] = {name, memory, seconds, NULL};

    int rc = prepare_attributes(&attributes);
    if (rc)
        return rc;
    rc = prepare_files(&files, socket);
    if (!rc) {
        rc = posix_spawn(ret_pid, parser->program, &files, &attributes,
                         arguments, environment());
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static int start(struct parser *parser, struct err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return err_errno(err, ERR_IO, "cannot make a socket pair");
    pid_t pid = 0;
    errno = spawn(parser, ends[1], &pid);
    if (errno) {
        err_errno(err, ERR_IO, "cannot start the parser %s", parser->program);
        close(ends[0]);
        close(ends[1]);
        return ERR_IO;
    }
    close(ends[1]);
    parser->pid = pid;
    parser->socket = ends[0];
    parser->requests = 0;
    parser->busy_ms = 0;
    return 0;
}

/* Has it closed its end, or said more than it was asked? */
static bool is_out_of_step(const struct parser *parser)
{
    char byte;
    return recv(parser->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/* A process that may take a whole request. */
static int ready(struct parser *parser, struct err *err)
{
    if (parser->pid && (parser->requests >= MAX_REQUESTS ||
                        parser->busy_ms >= parser->max_seconds * 1000LL ||
                        is_out_of_step(parser)))
        end_process(parser, true);
    int status;
    if (parser->pid && waitpid(parser->pid, &status, WNOHANG) == parser->pid) {
        close(parser->socket);
        parser->socket = -1;
        parser->pid = 0;
    }
    return parser->pid ? 0 : start(parser, err);
}

/* Processor time that the process has used so far; 0: nobody knows. */
static int64_t used_ms(const struct parser *parser)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(parser->pid, &clock) || clock_gettime(clock, &used))
        return 0;
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static void set_deadline(struct parser *parser)
{
    parser->began = clock_ms();
    parser->used_ms = used_ms(parser);
    parser->served_ms = 0;
    parser->deadline = parser->began + parser->max_seconds * 1000LL;
}

/* The deadline has passed; one that came before its time is put off. */
static bool is_overdue(struct parser *parser)
{
    int64_t now = clock_ms(), max = parser->max_seconds * 1000LL;
    int64_t left =
        max - parser->served_ms - (used_ms(parser) - parser->used_ms);
    if (now < parser->deadline && parser->served_ms < max)
        return false;
    if (left <= 0 || now >= parser->began + MAX_PATIENCE * max)
        return true;
    parser->deadline = now + left;
    return false;
}

/* ---- Failures ---- */

static int too_slow(struct parser *parser, struct err *err)
{
    if (parser->pid)
        end_process(parser, true);
    return err_set(err, ERR_LIMIT, "took longer than %" PRIu32 " s",
                   parser->max_seconds);
}

/* The process closed its end of the socket. */
static int died(struct parser *parser, struct err *err)
{
    int status = end_process(parser, false);
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        if (number == SIGXCPU)
            return too_slow(parser, err);
        return err_set(err, ERR_CRASH,
                       "the parser died on this file (signal %d)", number);
    }
    int code = WEXITSTATUS(status);
    if (code == WIRE_EXIT_MEMORY)
        return err_set(err, ERR_LIMIT,
                       "needs more than %" PRIu64 " bytes of memory",
                       parser->max_memory);
    if (code == WIRE_EXIT_JAIL)
        return err_set(err, ERR_INTERNAL,
                       "the parser could not lock itself in");
    return err_set(err, ERR_CRASH, "the parser died on this file (status %d)",
                   code);
}

/* A reply that makes no sense: the process is not to be trusted any more. */
static int nonsense(struct parser *parser, struct err *err)
{
    if (parser->pid)
        end_process(parser, true);
    return err_set(err, ERR_CRASH, "the parser's reply makes no sense");
}

/* ---- Requests ---- */

/* Waits until the socket is ready; ERR_LIMIT at the deadline, ERR_CANCELLED. */
static int wait_for(struct parser *parser, short events, struct err *err)
{
    for (;;) {
        if (is_overdue(parser))
            return too_slow(parser, err);
        if (parser->cancel && atomic_load(parser->cancel)) {
            end_process(parser, true);
            return err_set(err, ERR_CANCELLED, "stopped while parsing");
        }
        struct pollfd one = {parser->socket, events, 0};
        int n = poll(&one, 1, CANCEL_MS);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return nonsense(parser, err);
    }
}

static int put(struct parser *parser, const void *bytes, size_t size,
               struct err *err)
{
    const char *at = bytes;
    while (size) {
        ssize_t n = send(parser->socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            int rc = wait_for(parser, POLLOUT, err);
            if (rc)
                return rc;
            continue;
        }
        if (n <= 0)
            return died(parser, err);
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int take(struct parser *parser, void *bytes, size_t size,
                struct err *err)
{
    char *at = bytes;
    while (size) {
        ssize_t n = recv(parser->socket, at, size, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            int rc = wait_for(parser, POLLIN, err);
            if (rc)
                return rc;
            continue;
        }
        if (n <= 0)
            return died(parser, err);
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Appends in steps, so that a false size costs no more than what came. */
static int take_into(struct parser *parser, struct buf *buf, uint64_t size,
                     struct err *err)
{
    enum { STEP = 1 << 22 };
    while (size) {
        size_t step = size < STEP ? (size_t)size : STEP;
        buf_reserve(buf, step);
        int rc = take(parser, buf->data + buf->size, step, err);
        if (rc)
            return rc;
        buf->size += step;
        buf->data[buf->size] = '\0';
        size -= step;
    }
    return 0;
}

/* The failure that the process reports in place of an answer. */
static int reported(const struct wire_reply *reply, const struct buf *message,
                    struct parser *parser, struct err *err)
{
    struct slice text = buf_slice(message);
    if ((reply->status != ERR_FORMAT && reply->status != ERR_LIMIT) ||
        !text_is_utf8(text.data, text.size))
        return nonsense(parser, err);
    struct buf clean = {0};
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t code = text_decode(text.data, text.size, at, &step);
        if (code >= ' ' && (code < 0x7f || code >= 0xa0))
            buf_put(&clean, text.data + at, step);
    }
    int code = (int)reply->status;
    err_set(err, code, "%s", buf_slice(&clean).data);
    buf_free(&clean);
    if (err)
        err->position = reply->position < -1 ? -1 : reply->position;
    return code;
}

/* ---- Handing files over ---- */

static void note_handed(struct parser *parser, const struct buf *path,
                        size_t size)
{
    for (size_t i = 0; i < parser->handed_count; i++)
        if (!strcmp(parser->handed[i].path, path->data))
            return;
    MEM_RESERVE(parser->handed, &parser->handed_capacity,
                parser->handed_count + 1);
    parser->handed[parser->handed_count++] =
        (struct handed){mem_strdup(path->data), size};
}

/* Answers the child's question for one of these names. */
static int hand_over(struct parser *parser, const struct wire_request *request,
                     struct slice names, struct err *err)
{
    struct slice bytes = {"", 0};
    struct buf path = {0};
    struct wire_request input = {.number = request->number, .kind = WIRE_INPUT};
    const struct parser_inputs *inputs = parser->inputs;
    int64_t began = clock_ms();
    bool found = inputs && inputs->open(inputs->context, names, &bytes, &path);
    parser->served_ms += clock_ms() - began;
    buf_put_byte(&path, '\0');
    if (found &&
        bytes.size + path.size + parser->handed_bytes > PARSER_MAX_BYTES) {
        found = false;
        buf_clear(&path);
        buf_printf(&path, "its files are larger than %d MiB",
                   PARSER_MAX_BYTES >> 20);
        buf_put_byte(&path, '\0');
    }
    if (found) {
        parser->handed_bytes += bytes.size;
        note_handed(parser, &path, bytes.size);
    } else {
        bytes.size = 0;
    }
    input.format = found;
    input.size = path.size + bytes.size;
    int rc = put(parser, &input, sizeof input, err);
    if (!rc)
        rc = put(parser, path.data, path.size, err);
    if (!rc)
        rc = put(parser, bytes.data, bytes.size, err);
    buf_free(&path);
    return rc;
}

/* Takes the reply's header, after all that the child asks for before. */
static int take_reply(struct parser *parser, const struct wire_request *request,
                      struct wire_reply *reply, struct err *err)
{
    for (size_t asked = 0;; asked++) {
        int rc = take(parser, reply, sizeof *reply, err);
        if (rc || reply->status != WIRE_ASKS)
            return rc;
        struct buf names = {0};
        /* One that asks without a pause is never waited for. */
        if (is_overdue(parser))
            return too_slow(parser, err);
        if (parser->cancel && atomic_load(parser->cancel)) {
            end_process(parser, true);
            return err_set(err, ERR_CANCELLED, "stopped while parsing");
        }
        if (reply->number != request->number || reply->size > WIRE_MAX_NAMES ||
            asked > MAX_ASKED)
            return nonsense(parser, err);
        rc = take_into(parser, &names, reply->size, err);
        if (!rc)
            rc = hand_over(parser, request, buf_slice(&names), err);
        buf_free(&names);
        if (rc)
            return rc;
    }
}

static int exchange(struct parser *parser, struct wire_request request,
                    struct slice bytes, struct buf *answer, struct err *err)
{
    request.number = ++parser->number;
    request.size = bytes.size;
    forget_handed(parser);
    int rc = put(parser, &request, sizeof request, err);
    if (!rc)
        rc = put(parser, bytes.data, bytes.size, err);
    struct wire_reply reply;
    if (!rc)
        rc = take_reply(parser, &request, &reply, err);
    if (rc)
        return rc;
    uint64_t size = bytes.size + parser->handed_bytes;
    uint64_t max =
        reply.status ? sizeof err->message - 1 : wire_max_reply(size);
    if (reply.number != request.number || reply.size > max)
        return nonsense(parser, err);
    rc = take_into(parser, answer, reply.size, err);
    if (!rc && reply.status)
        rc = reported(&reply, answer, parser, err);
    return rc;
}

static int ask(struct parser *parser, struct wire_request request,
               struct slice bytes, struct buf *answer, struct err *err)
{
    if (bytes.size > PARSER_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "larger than %d MiB",
                       PARSER_MAX_BYTES >> 20);
    int rc = ready(parser, err);
    if (rc)
        return rc;
    set_deadline(parser);
    parser->requests++;
    rc = exchange(parser, request, bytes, answer, err);
    parser->busy_ms += clock_ms() - parser->began;
    return rc;
}

/* ---- What is believed of a reply ---- */

static bool is_within(struct span span, size_t size)
{
    return span.from <= span.to && span.to <= size;
}

static bool is_text(struct slice text)
{
    return text_is_utf8(text.data, text.size);
}

/* The bytes of each of a tree's files. */
static bool is_in_file(const struct origin *origin, const uint64_t *sizes)
{
    return is_within(origin->span, sizes[origin->file]);
}

static bool is_plausible_node(const struct node *node, const uint64_t *sizes)
{
    bool fine = is_text(node->title) && is_text(node->anchor);
    for (uint32_t i = 0; i < node->origin_count && fine; i++)
        fine = is_in_file(&node->origins[i], sizes);
    for (uint32_t i = 0; i < node->anchor_count && fine; i++)
        fine = is_text(node->anchors[i]);
    for (uint32_t i = 0; i < node->block_count && fine; i++) {
        const struct block *block = &node->blocks[i];
        fine = is_in_file(&block->origin, sizes) && is_text(block->text) &&
               is_text(block->info);
    }
    for (uint32_t i = 0; i < node->ref_count && fine; i++)
        fine = is_text(node->refs[i].text) && is_text(node->refs[i].url);
    return fine;
}

/* The sizes of the tree's files: the one parsed, and of those that were handed
 * over; false: it names another. */
static bool find_sizes(const struct parser *parser, const struct tree *tree,
                       size_t size, uint64_t *ret_sizes)
{
    ret_sizes[0] = size;
    for (uint32_t f = 1; f < tree->file_count; f++) {
        size_t i = 0;
        while (i < parser->handed_count &&
               !slice_is(tree->files[f], parser->handed[i].path))
            i++;
        if (i == parser->handed_count)
            return false;
        ret_sizes[f] = parser->handed[i].size;
    }
    return true;
}

/* Is it a file's tree, with all its places in that file and those included? */
static bool is_plausible(const struct parser *parser, const struct tree *tree,
                         size_t size)
{
    const struct page *page = &tree->page;
    if (tree->outline || !tree->file_count || tree->files[0].size ||
        tree->file_count > 1 + parser->handed_count)
        return false;
    uint64_t *sizes = mem_alloc(tree->file_count * sizeof *sizes);
    bool fine = find_sizes(parser, tree, size, sizes) && is_text(page->title) &&
                is_text(page->up) && is_text(page->prev) && is_text(page->next);
    for (uint32_t i = 0; i < page->alias_count && fine; i++)
        fine = is_text(page->aliases[i].text) && is_text(page->aliases[i].url);
    for (uint32_t n = 0; n < tree->count && fine; n++)
        fine = is_plausible_node(&tree->nodes[n], sizes);
    free(sizes);
    return fine;
}

static bool read_tree(const struct parser *parser, struct slice answer,
                      size_t size, struct tree **ret_tree)
{
    size_t all = size + parser->handed_bytes;
    const struct tree_limits limits = wire_tree_limits(all);
    struct tree *tree;
    if (tree_decode_within(answer.data, answer.size, &limits, &tree, NULL))
        return false;
    bool fine = is_plausible(parser, tree, size);
    if (fine)
        *ret_tree = tree;
    else
        tree_free(tree);
    return fine;
}

/* Takes the reports off the head of an answer. */
static bool read_reports(struct slice *answer, const struct parser_inputs *in)
{
    struct reader reader = reader_of(answer->data, answer->size);
    struct slice reports = read_string(&reader);
    if (reader.failed || !is_text(reports))
        return false;
    if (in && in->reports)
        buf_put_slice(in->reports, reports);
    answer->data += reader.at;
    answer->size -= reader.at;
    return true;
}

static int ask_tree(struct parser *parser, enum wire_kind kind,
                    struct slice bytes, enum parser_format format,
                    const struct parser_inputs *inputs, struct tree **ret_tree,
                    struct err *err)
{
    struct buf answer = {0};
    struct wire_request request = {.kind = kind, .format = (uint64_t)format};
    parser->inputs = inputs;
    int rc = ask(parser, request, bytes, &answer, err);
    struct slice encoded = buf_slice(&answer);
    if (!rc && ((format == PARSER_LATEX && !read_reports(&encoded, inputs)) ||
                !read_tree(parser, encoded, bytes.size, ret_tree)))
        rc = nonsense(parser, err);
    parser->inputs = NULL;
    buf_free(&answer);
    return rc;
}

int parser_parse(struct parser *parser, struct slice bytes,
                 enum parser_format format, const struct parser_inputs *inputs,
                 struct tree **ret_tree, struct err *err)
{
    return ask_tree(parser, WIRE_PARSE, bytes, format, inputs, ret_tree, err);
}

int parser_boilerplate(struct parser *parser, struct slice bytes,
                       enum parser_format format, struct tree **ret_tree,
                       struct err *err)
{
    return ask_tree(parser, WIRE_BOILERPLATE, bytes, format, NULL, ret_tree,
                    err);
}

/* False unless the reply is text and places as promised. */
static bool read_text(const struct buf *answer, size_t max, struct slice *text,
                      struct slice *places)
{
    uint64_t n;
    if (answer->size < sizeof n)
        return false;
    memcpy(&n, answer->data, sizeof n);
    if (n > answer->size || wire_text_size(n) != answer->size)
        return false;
    *text = (struct slice){answer->data + sizeof n, n};
    *places = (struct slice){text->data + n, answer->size - sizeof n - n};
    uint32_t before = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct text_place place;
        memcpy(&place, places->data + i * sizeof place, sizeof place);
        if (place.from < before || place.to <= place.from || place.to > max)
            return false;
        before = place.from;
    }
    return text_is_utf8(text->data, text->size);
}

int parser_text(struct parser *parser, struct slice bytes,
                enum parser_format format, enum encoding encoding,
                struct buf *ret_text, struct buf *ret_places, struct err *err)
{
    struct buf answer = {0};
    struct wire_request request = {.kind = WIRE_TEXT,
                                   .format = (uint64_t)format,
                                   .encoding = (uint64_t)encoding};
    int rc = ask(parser, request, bytes, &answer, err);
    struct slice text, places;
    if (!rc && !read_text(&answer, bytes.size, &text, &places))
        rc = nonsense(parser, err);
    if (!rc) {
        buf_put_slice(ret_text, text);
        buf_put_slice(ret_places, places);
    }
    buf_free(&answer);
    return rc;
}
