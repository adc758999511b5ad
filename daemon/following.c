#include "daemon/following.h"

#include <stdlib.h>

#include "base/file.h"
#include "daemon/jobs/jobs.h"
#include "daemon/jobs/request.h"
#include "indexer/skeletons.h"

enum { MAX_SKELETONS = 128 << 20 /* bytes */ };

static struct parser_options parser_options(const struct config *config)
{
    return (struct parser_options){
        .program = config_text(config, CONFIG_PARSER),
        .max_memory = config_number(config, CONFIG_PARSE_MEMORY_MB) << 20,
        .max_seconds = (uint32_t)config_number(config, CONFIG_PARSE_SECONDS)};
}

static struct memory_policy memory_policy(const struct config *config)
{
    return (struct memory_policy){
        .aggregate = config_choice(config, CONFIG_AGGREGATE),
        .recall = config_choice(config, CONFIG_RECALL),
        .segment_tokens = config_number(config, CONFIG_SEGMENT_TOKENS)};
}

/* Every manual is looked at again: that is how an interrupted update goes on,
 * and how changes made meanwhile are found. */
static int queue_all(struct daemon *daemon, struct err *err)
{
    struct manual *manuals;
    size_t count;
    int code = store_read_manuals(daemon->store, &manuals, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++) {
        jobs_update(daemon->jobs, manuals[i].id, manuals[i].name, false);
        manual_free(&manuals[i]);
    }
    free(manuals);
    return 0;
}

static struct jobs_options jobs_options(const struct daemon *daemon)
{
    const struct config *config = daemon->config;
    return (struct jobs_options){
        .store = daemon->store,
        .library = daemon->library,
        .response_queue = daemon->response_queue,
        .engine = daemon->engine,
        .answer_engine = daemon->answer_engine,
        .rank_engine = daemon->rank_engine,
        .policy = daemon->policy,
        .no_mending = !config_choice(config, CONFIG_MEND),
        .index = {.parser = daemon->parser,
                  .watch = daemon->watch,
                  .skeletons = daemon->skeletons,
                  .no_aliases = !config_choice(config, CONFIG_ALIASES),
                  .parsers = (unsigned)config_number(config, CONFIG_PARSERS)}};
}

int following_new(struct daemon *daemon, const struct config *config,
                  void (*wake)(void *context), void *context, struct err *err)
{
    daemon->config = config;
    daemon->started_ms = clock_ms();
    daemon->parser = parser_options(config);
    daemon->policy = memory_policy(config);
    daemon->skeletons = skeletons_new(MAX_SKELETONS);
    daemon->watch = watch_new(config_choice(config, CONFIG_WATCH));
    daemon->all_links = config_choice(config, CONFIG_LINKS);
    daemon->sweep_ms =
        (int64_t)config_number(config, CONFIG_SWEEP_SECONDS) * 1000;
    daemon->poll_ms =
        (int64_t)config_number(config, CONFIG_POLL_SECONDS) * 1000;
    daemon->response_queue = response_queue_new(wake, context);
    struct jobs_options options = jobs_options(daemon);
    daemon->jobs = jobs_new(&options);
    return queue_all(daemon, err);
}

void following_free(struct daemon *daemon)
{
    response_queue_free(daemon->response_queue);
    watch_free(daemon->watch);
    skeletons_free(daemon->skeletons);
}
