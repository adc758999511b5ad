#include "daemon/roles.h"

#include <stdlib.h>
#include <string.h>

struct engine *roles_answers(const struct daemon *daemon)
{
    return roles_differ(daemon) ? daemon->answer_engine : daemon->engine;
}

/* By what is in use, not by what is to be: that stays while a request holds it. */
bool roles_differ(const struct daemon *daemon)
{
    return engine_has_model(daemon->answer_engine) ||
           atomic_load(&daemon->nobody_answers);
}

/* After the engine of answers was given what it is to hold. */
static void set_nobody(struct daemon *daemon, bool differ, const char *answers)
{
    if (!differ || !answers[0])
        atomic_store(&daemon->nobody_answers, differ);
}

/* On the CPU: its rows are read once.  No verb changes its model, so that question_pieces
 * holds no reference to it. */
static int start_pieces(struct engine **ret, struct err *err)
{
    struct buf folder = {0};
    config_default_memories(&folder);
    struct engine_options options = {.folder = folder.data};
    int code = engine_start(&options, ret, err);
    buf_free(&folder);
    return code;
}

int roles_start(struct daemon *daemon, const struct config *config,
                struct engine_options options, struct err *err)
{
    const char *memories = config_model(config, ROLE_MEMORIES);
    const char *answers = config_model(config, ROLE_ANSWERS);
    bool differ = strcmp(memories, answers) != 0;
    options.folder = memories;
    int code = engine_start(&options, &daemon->engine, err);
    options.folder = differ ? answers : NULL;
    set_nobody(daemon, differ, answers);
    if (!code)
        code = engine_start(&options, &daemon->answer_engine, err);
    options.folder = config_model(config, ROLE_RERANKING);
    if (!code)
        code = engine_start(&options, &daemon->rank_engine, err);
    return code ? code : start_pieces(&daemon->piece_engine, err);
}

void roles_cancel(const struct daemon *daemon)
{
    if (daemon->engine)
        engine_cancel(daemon->engine);
    if (daemon->answer_engine)
        engine_cancel(daemon->answer_engine);
    if (daemon->rank_engine)
        engine_cancel(daemon->rank_engine);
    if (daemon->piece_engine)
        engine_cancel(daemon->piece_engine);
}

bool roles_stop(struct daemon *daemon, int64_t deadline_ms)
{
    return engine_stop(daemon->piece_engine, deadline_ms) &&
           engine_stop(daemon->rank_engine, deadline_ms) &&
           engine_stop(daemon->answer_engine, deadline_ms) &&
           engine_stop(daemon->engine, deadline_ms);
}

void roles_ref(const struct daemon *daemon)
{
    engine_ref(daemon->engine);
    engine_ref(daemon->answer_engine);
    if (daemon->rank_engine)
        engine_ref(daemon->rank_engine);
}

void roles_unref(const struct daemon *daemon)
{
    if (daemon->rank_engine)
        engine_unref(daemon->rank_engine);
    engine_unref(daemon->answer_engine);
    engine_unref(daemon->engine);
}

static int use_for_answers(struct daemon *daemon, const char *folder,
                           struct err *err)
{
    char *memories = engine_newest_folder(daemon->engine);
    bool differ = strcmp(folder, memories) != 0;
    int code = engine_use(daemon->answer_engine, differ ? folder : "", err);
    if (!code)
        set_nobody(daemon, differ, folder);
    free(memories);
    return code;
}

/* Where one model had both roles, it keeps that of answers. */
static int use_for_memories(struct daemon *daemon, const char *folder,
                            struct err *err)
{
    char *own = engine_newest_folder(daemon->answer_engine);
    char *memories = engine_newest_folder(daemon->engine);
    bool differed = own[0] || atomic_load(&daemon->nobody_answers);
    const char *answers = differed ? own : memories;
    bool differ = strcmp(folder, answers) != 0;
    int code = 0;
    if (differ != differed)
        code = engine_use(daemon->answer_engine, differ ? answers : "", err);
    if (!code)
        code = engine_use(daemon->engine, folder, err);
    if (!code)
        set_nobody(daemon, differ, answers);
    free(own);
    free(memories);
    return code;
}

int roles_use(struct daemon *daemon, enum config_role role, const char *folder,
              struct err *err)
{
    if (role == ROLE_ANSWERS)
        return use_for_answers(daemon, folder, err);
    if (role == ROLE_RERANKING)
        return engine_use(daemon->rank_engine, folder, err);
    if (role == ROLE_MEMORIES)
        return use_for_memories(daemon, folder, err);
    int code = engine_use(daemon->engine, folder, err);
    if (code)
        return code;
    atomic_store(&daemon->nobody_answers, false);
    return engine_use(daemon->answer_engine, "", err);
}
