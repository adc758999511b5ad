#include "daemon/answer/question_pieces.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "daemon/engine/engine.h"
#include "memory/embeddings/pieces.h"

struct question_pieces {
    pthread_mutex_t mutex;
    struct engine_embedder reader;
    struct pieces *last; /* NULL: none were asked for, or they cannot be read */
    struct hash128 refused; /* the model whose rows are too many */
};

struct question_pieces *question_pieces_new(struct engine *engine)
{
    struct question_pieces *all = mem_alloc(sizeof *all);
    pthread_mutex_init(&all->mutex, NULL);
    engine_embedder(engine, false, NULL, &all->reader);
    return all;
}

void question_pieces_free(struct question_pieces *all)
{
    if (!all)
        return;
    pieces_unref(all->last);
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

int question_pieces_of(struct question_pieces *all, struct hash128 model,
                       struct pieces **ret, struct err *err)
{
    int code = 0;
    pthread_mutex_lock(&all->mutex);
    if (hash_equal(all->refused, model)) {
        code = err_set(err, ERR_LIMIT, "the model has too many tokens");
    } else if (!all->last || !hash_equal(pieces_model(all->last), model)) {
        pieces_unref(all->last);
        all->last = NULL;
        code = pieces_new(&all->reader.embedder, &all->last, err);
        all->refused = code == ERR_LIMIT ? model : (struct hash128){0, 0};
    }
    if (!code)
        *ret = pieces_keep(all->last);
    pthread_mutex_unlock(&all->mutex);
    return code;
}
