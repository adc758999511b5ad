#include "daemon/answer/question_pieces.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "daemon/engine/engine.h"
#include "memory/embeddings/pieces.h"

/* A model without layers. */
struct source {
    struct engine_embedder reader;
    struct pieces *last; /* NULL: none were asked for, or they cannot be read */
    struct hash128 refused; /* the model whose rows are too many */
};

struct question_pieces {
    pthread_mutex_t mutex;
    struct source memories, included;
};

struct question_pieces *question_pieces_new(struct engine *memories,
                                            struct engine *included)
{
    struct question_pieces *all = mem_alloc(sizeof *all);
    pthread_mutex_init(&all->mutex, NULL);
    engine_embedder(memories, false, NULL, &all->memories.reader);
    engine_embedder(included, false, NULL, &all->included.reader);
    return all;
}

void question_pieces_free(struct question_pieces *all)
{
    if (!all)
        return;
    pieces_unref(all->memories.last);
    pieces_unref(all->included.last);
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

static int included_facts(struct source *included, struct embedder_facts *ret,
                          struct err *err)
{
    const struct embedder *embedder = &included->reader.embedder;
    if (!engine_has_model(included->reader.engine))
        return err_set(err, ERR_MODEL,
                       "no model without layers is included: there is no nib "
                       "beside the program");
    return embedder->facts(embedder->context, ret, err);
}

/* Reads them unless that was done already. */
static int read_pieces(struct source *source, struct hash128 model,
                       struct err *err)
{
    if (hash_equal(source->refused, model))
        return err_set(err, ERR_LIMIT, "the model has too many tokens");
    if (source->last && hash_equal(pieces_model(source->last), model))
        return 0;
    pieces_unref(source->last);
    source->last = NULL;
    int code = pieces_new(&source->reader.embedder, &source->last, err);
    source->refused = code == ERR_LIMIT ? model : (struct hash128){0, 0};
    return code;
}

int question_pieces_of(struct question_pieces *all,
                       const struct embedder_facts *memories,
                       struct pieces **ret, struct err *err)
{
    struct source *source = memories->bag ? &all->memories : &all->included;
    struct embedder_facts facts = *memories;
    int code = memories->bag ? 0 : included_facts(source, &facts, err);
    if (code)
        return code;
    pthread_mutex_lock(&all->mutex);
    code = read_pieces(source, facts.model, err);
    if (!code)
        *ret = pieces_keep(source->last);
    pthread_mutex_unlock(&all->mutex);
    return code;
}
