#include "daemon/engine_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hash.h"

static bool is_read(const char *name)
{
    return !strcmp(name, "config.json") ||
           !strcmp(name, "generation_config.json") ||
           !strcmp(name, "tokenizer.json") || !strcmp(name, "modules.json") ||
           !strcmp(name, "sentence_bert_config.json") ||
           !strcmp(name, "config_sentence_transformers.json") ||
           (!strncmp(name, "model", 5) && strstr(name, ".safetensors"));
}

struct folder_look folder_look(const char *folder)
{
    struct folder_look look = {0};
    struct dirent *entry;
    struct stat st;
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (!is_read(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, 0) < 0)
            continue;
        struct buf text = {0};
        buf_put_text(&text, entry->d_name);
        buf_put_varint(&text, (uint64_t)st.st_size);
        buf_put_varint(&text, (uint64_t)st.st_mtim.tv_sec);
        buf_put_varint(&text, (uint64_t)st.st_mtim.tv_nsec);
        buf_put_varint(&text, st.st_ino);
        /* In whatever order the folder lists them. */
        look.files += hash_bytes64(text.data, text.size);
        buf_free(&text);
    }
    if (dir)
        closedir(dir);
    return look;
}
