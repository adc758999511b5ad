/* The daemon's parts, for every verb.  Made by lecternd_main.c and following.c, then only
 * read, but for the models' roles. */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include <stdatomic.h>
#include <stdint.h>

#include "indexer/parser.h"
#include "memory/snapshot/library.h"
#include "memory/embeddings/memories.h"
#include "memory/store/store.h"

struct engine;
struct watch;
struct jobs;
struct response_queue;
struct conversations;
struct hmt_cache;
struct question_pieces;
struct prompt_files;
struct skeletons;
struct other_readers;

struct daemon {
    const struct config *config;
    struct store *store;
    struct library *library;
    struct engine *engine;        /* of memories */
    struct engine *answer_engine; /* daemon/roles.h */
    struct engine *rank_engine;   /* of the reranker, if there is one */
    struct engine *piece_engine;  /* of the included model without layers */
    atomic_bool nobody_answers;   /* although a model makes memories */
    struct jobs *jobs;
    struct pool *search_pool; /* shares out what one search is made of */
    struct response_queue *response_queue;
    struct conversations *conversations;
    struct hmt_cache *hmt_cache;
    struct question_pieces *question_pieces;
    struct prompt_files *prompt_files; /* NULL: none */
    struct parser_options parser;
    struct memory_policy policy;
    struct watch *watch;
    struct skeletons *skeletons;
    struct other_readers *other_readers; /* NULL: nobody else is asked */
    bool all_links; /* unless `add` says otherwise (indexer/source.h) */
    int64_t sweep_ms, poll_ms; /* between rescans */
    int64_t started_ms;        /* clock_ms */
};

#endif
