/* A model's folder, or GGUF file, at a glance, to see whether it has changed. */
#ifndef DAEMON_ENGINE_ENGINE_FOLDER_H
#define DAEMON_ENGINE_ENGINE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

struct folder_look {
    uint64_t files; /* of what model_open reads: names, sizes, times; of
                       what lies deeper, FOLDER/config.json */
};

struct folder_look folder_look(const char *folder);

static inline bool folder_same(struct folder_look a, struct folder_look b)
{
    return a.files == b.files;
}

#endif
