/* lecternd: keeps manuals indexed and answers questions about them. */
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/spare.h"
#include "daemon/lecternd_malloc.h"
#include "base/version.h"
#include "daemon/engine/engine.h"
#include "daemon/fleet/other_readers.h"
#include "daemon/following.h"
#include "daemon/engine/prompt_files.h"
#include "daemon/jobs/jobs.h"
#include "daemon/answer/hmt_cache.h"
#include "daemon/answer/question_pieces.h"
#include "daemon/net/server.h"
#include "daemon/roles.h"
#include "daemon/answer/conversation.h"
#include "daemon/net/socket.h"
#include "daemon/jobs/work.h"

enum {
    STOP_MS = 800, /* for the threads, once the loop has ended */
    MAX_HEAPS = 4,
    LARGE_BUFFER = 1 << 20,      /* bytes; has pages of its own */
    SPARE = 64 << 20,            /* bytes, for when there is no memory */
    FILED_PARAMETERS = 64 << 20, /* of a model that reads more slowly than
                                    files are read */
    MAX_UNUSED = 4 << 20         /* bytes at the end of a heap */
};

struct options {
    const char *socket, *store, *config, *log, *model, *device;
};

static void usage(void)
{
    puts("usage: lecternd [options]\n"
         "\n"
         "keeps manuals indexed and answers lectern, which starts it when none "
         "runs; it stays in the foreground\n"
         "\n"
         "options:\n"
         "  --socket PATH               socket to listen on\n"
         "  --store DIR                 folder of the index\n"
         "  --model PATH                model folder or GGUF file, or none\n"
         "  --device auto|cpu|cuda[:N]  device of the model\n"
         "  --config FILE               configuration file\n"
         "  --log LEVEL                 least severe messages that are logged: "
         "error, warn, info or debug\n"
         "  --foreground                taken, and without effect\n"
         "  -h, --help                  print this help\n"
         "  --version                   print the version");
}

/* 1: answered already; ERR_USAGE. */
static int parse_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"socket", required_argument, NULL, 's'},
        {"store", required_argument, NULL, 'd'},
        {"model", required_argument, NULL, 'm'},
        {"device", required_argument, NULL, 'g'},
        {"config", required_argument, NULL, 'c'},
        {"log", required_argument, NULL, 'l'},
        {"foreground", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) >= 0;)
        switch (option) {
        case 's': options->socket = optarg; break;
        case 'd': options->store = optarg; break;
        case 'm': options->model = optarg; break;
        case 'g': options->device = optarg; break;
        case 'c': options->config = optarg; break;
        case 'l': options->log = optarg; break;
        case 'f': break;
        case 'h': usage(); return 1;
        case 'v': puts("lecternd " LECTERN_VERSION); return 1;
        default: return ERR_USAGE; /* getopt has said why */
        }
    if (optind == argc)
        return 0;
    fprintf(stderr, "lecternd: unexpected argument: %s\n", argv[optind]);
    return ERR_USAGE;
}

static int configure(const struct options *options, struct config *config,
                     struct err *err)
{
    const char *const values[CONFIG_KEYS] = {[CONFIG_SOCKET] = options->socket,
                                             [CONFIG_STORE] = options->store,
                                             [CONFIG_MODEL] = options->model,
                                             [CONFIG_DEVICE] = options->device,
                                             [CONFIG_LOG] = options->log};
    int code = config_load_with(config, options->config, values, err);
    if (code)
        config_free(config);
    return code;
}

/* What is running, in the order of its start. */
struct service {
    struct daemon daemon;
    struct listener listener;
    struct server *server;
    struct work *work;
};

/* The device is looked for now only where it must be there. */
static int choose_device(const struct config *config,
                         struct engine_options *options, struct err *err)
{
    const char *reason = NULL;
    unsigned number;
    enum config_device device = config_device(config, &number);
    options->device_name = config_text(config, CONFIG_DEVICE);
    if (device == DEVICE_CPU)
        return 0;
    kernels_cuda_choose(number);
    options->find_device = kernels_cuda;
    options->device_only = device == DEVICE_CUDA;
    if (device == DEVICE_CUDA && !kernels_cuda(&reason))
        return err_set(err, ERR_USAGE,
                       "there is no CUDA device to run on, as `device = %s` "
                       "or --device asks for: %s",
                       options->device_name, reason);
    return 0;
}

/* A section is what it was. */
static bool stands(void *context, const struct prompt_section *section)
{
    const struct daemon *daemon = context;
    struct snapshot *snapshot = library_snapshot(daemon->library);
    const struct view *view;
    uint32_t node;
    bool same = snapshot_find(snapshot, section->node, &view, &node) &&
                hash_equal(view->outline->nodes[node].own, section->own);
    snapshot_unref(snapshot);
    return same;
}

/* Without files prompts are read again. */
static void open_prompt_files(struct daemon *daemon,
                              const struct config *config)
{
    struct err err = {.position = -1};
    struct buf path = {0};
    uint64_t most = config_number(config, CONFIG_PROMPT_DISK_MB);
    file_join(&path, config_text(config, CONFIG_STORE), "prompts");
    if (prompt_files_open(path.data, most << 20, &daemon->prompt_files, &err))
        log_warn("no prompts are kept on the disk: %s", err.message);
    if (!most && daemon->prompt_files) { /* it has removed what was there */
        prompt_files_close(daemon->prompt_files);
        daemon->prompt_files = NULL;
    }
    buf_free(&path);
}

static int open_all(struct service *service, const struct config *config,
                    struct err *err)
{
    struct daemon *daemon = &service->daemon;
    struct store_options options = {.folder = config_text(config, CONFIG_STORE),
                                    .address =
                                        config_text(config, CONFIG_SOCKET)};
    struct engine_options engine = {
        .exact = config_choice(config, CONFIG_HILS),
        .how = session_exact_of(config_number(config, CONFIG_HILS_TOKENS)),
        .keys_int8 = config_choice(config, CONFIG_KV_CACHE_TYPE),
        .int8 = true,
        .exact_from = config_number(config, CONFIG_HILS_FROM),
        .prompt_bytes = config_number(config, CONFIG_PROMPT_MEMORY_MB) << 20,
        .prompts_rounded = config_choice(config, CONFIG_PROMPT_DISK_TYPE),
        .filed_parameters = FILED_PARAMETERS,
        .check = {stands, daemon}};
    static const int reranks[] = {SESSION_BY_MEANS, SESSION_RERANKED,
                                  SESSION_BY_KEYS};
    engine.how.rerank = reranks[config_choice(config, CONFIG_HILS_RERANK)];
    engine.how.full = config_number(config, CONFIG_HILS_LAYERS);
    int code = choose_device(config, &engine, err);
    if (!code)
        code = other_readers_open(config_text(config, CONFIG_FLEET_READERS),
                                  &daemon->other_readers, err);
    if (!code)
        code = store_open(&options, &daemon->store, err);
    if (!code)
        code = library_open(daemon->store, &daemon->library, err);
    if (!code)
        code = listener_open(config_text(config, CONFIG_SOCKET),
                             &service->listener, err);
    if (!code)
        open_prompt_files(daemon, config);
    engine.prompt_files = daemon->prompt_files;
    if (!code)
        code = roles_start(daemon, config, engine, err);
    if (!code)
        code = server_new(service->listener.fd, &service->server, err);
    return code;
}

/* A search has two parts, and the best block of thirty sections. */
static unsigned search_threads(void)
{
    const unsigned most = 4;
    return pool_cores() < most ? pool_cores() : most;
}

static int start_threads(struct service *service, const struct config *config,
                         struct err *err)
{
    struct daemon *daemon = &service->daemon;
    daemon->conversations = conversations_new();
    daemon->hmt_cache = hmt_cache_new();
    daemon->question_pieces =
        question_pieces_new(daemon->engine, daemon->piece_engine);
    int code = following_new(daemon, config, server_wake, service->server, err);
    spare_on_shortage(jobs_on_shortage, daemon->jobs);
    if (!code)
        code = pool_new(search_threads(), &daemon->search_pool, err);
    if (!code)
        code = work_start(daemon, &service->work, err);
    if (!code)
        code = jobs_start(daemon->jobs, err);
    return code;
}

/* Ends what was started.  A thread that does not end in time (one file can
 * keep the parser for long) is left behind: the store survives that. */
static void close_all(struct service *service, int status)
{
    struct daemon *daemon = &service->daemon;
    int64_t deadline = clock_ms() + STOP_MS;
    if (daemon->jobs)
        jobs_cancel(daemon->jobs);
    roles_cancel(daemon);
    if ((service->work && !work_stop(service->work, deadline)) ||
        (daemon->jobs && !jobs_stop(daemon->jobs, deadline)) ||
        !roles_stop(daemon, deadline)) {
        log_warn("a thread is still busy and is cut off");
        listener_close(&service->listener);
        _exit(status);
    }
    pool_free(daemon->search_pool);
    server_free(service->server);
    conversations_free(daemon->conversations);
    hmt_cache_free(daemon->hmt_cache);
    question_pieces_free(daemon->question_pieces);
    prompt_files_close(daemon->prompt_files);
    other_readers_free(daemon->other_readers);
    following_free(daemon);
    library_close(daemon->library);
    if (daemon->store)
        store_close(daemon->store);
    listener_close(&service->listener);
}

static int serve(const struct config *config, struct err *err)
{
    struct service service = {.listener = {-1, NULL, -1}};
    int code = open_all(&service, config, err);
    if (!code)
        code = start_threads(&service, config, err);
    if (!code) {
        const char *path = service.listener.path;
        log_info("listening on %s, store %s",
                 path ? path : "the socket that systemd opened",
                 config_text(config, CONFIG_STORE));
        service_notify("READY=1");
        code = server_run(service.server, &service.daemon, service.work, err);
    }
    close_all(&service, err_exit_status(code));
    if (!code)
        log_info("stopped");
    return code;
}

/* By itself malloc comes to take even large buffers from its heaps, one for each
 * thread, which keep tens of megabytes that nothing uses. */
static void give_memory_back(void)
{
    mallopt(M_ARENA_MAX, MAX_HEAPS);
    mallopt(M_MMAP_THRESHOLD, LARGE_BUFFER);
    mallopt(M_TRIM_THRESHOLD, MAX_UNUSED);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct config config = {0};
    struct err err = {.position = -1};
    file_open_standard();
    give_memory_back();
    if (!spare_open(SPARE))
        log_warn("no memory could be set aside: want of it ends the daemon");
    malloc_follow();
    int code = parse_options(argc, argv, &options);
    if (code)
        return code > 0 ? 0 : err_exit_status(code);
    umask(077);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* who started it may ignore it */
    code = configure(&options, &config, &err);
    if (!code) {
        log_set_level(config_log_level(&config));
        code = serve(&config, &err);
        config_free(&config);
    }
    if (!code)
        return 0;
    log_error("%s%s%s", err.path, err.path[0] ? ": " : "", err.message);
    return err_exit_status(code);
}
