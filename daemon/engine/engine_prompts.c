/* The beginnings of prompts that the engine remembers, as its thread sees to them. */
#include "daemon/engine/engine_internal.h"

void engine_note_prompts(struct engine *engine)
{
    const struct prefixes *p = &engine->prefixes;
    struct engine_prompts now = {.count = p->count,
                                 .bytes = prefixes_bytes(p),
                                 .max_bytes = prefixes_most(p),
                                 .counts = p->counts};
    pthread_mutex_lock(&engine->lock);
    engine->prompts = now;
    pthread_mutex_unlock(&engine->lock);
}

void engine_prompts(struct engine *engine, struct engine_prompts *ret)
{
    pthread_mutex_lock(&engine->lock);
    *ret = engine->prompts;
    pthread_mutex_unlock(&engine->lock);
}

void engine_sections_changed(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->look_again = engine->check.stands;
    pthread_cond_signal(&engine->more[QUESTIONS]);
    pthread_mutex_unlock(&engine->lock);
}

bool engine_check_prompts(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool due = engine->look_again;
    engine->look_again = false;
    pthread_mutex_unlock(&engine->lock);
    if (due) {
        prefixes_forget(&engine->prefixes, &engine->check);
        engine_note_prompts(engine);
    }
    return due;
}

bool engine_file_prompt(struct engine *engine)
{
    return engine->model && prefixes_file_one(&engine->prefixes, engine->model);
}
