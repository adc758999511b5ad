#include "daemon/engine/engine_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/gguf.h"
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

/* A sum: the folder lists its files in any order. */
static void look_at(struct folder_look *look, int dir, const char *name)
{
    struct buf text = {0};
    struct stat st;
    if (fstatat(dir, name, &st, 0) < 0)
        return;
    buf_put_text(&text, name);
    buf_put_varint(&text, (uint64_t)st.st_size);
    buf_put_varint(&text, (uint64_t)st.st_mtim.tv_sec);
    buf_put_varint(&text, (uint64_t)st.st_mtim.tv_nsec);
    buf_put_varint(&text, st.st_ino);
    look->files += hash_bytes64(text.data, text.size);
    buf_free(&text);
}

/* Of a folder within, as 1_Pooling, what says how vectors are made. */
static void look_within(struct folder_look *look, int dir, const char *name)
{
    struct buf path = {0};
    if (name[0] == '.')
        return;
    file_join(&path, name, "config.json");
    look_at(look, dir, path.data);
    buf_free(&path);
}

struct folder_look folder_look(const char *folder)
{
    struct folder_look look = {0};
    struct dirent *entry;
    if (gguf_is_path(folder))
        look_at(&look, AT_FDCWD, folder);
    DIR *dir = opendir(folder);
    while (dir && (entry = readdir(dir))) {
        if (is_read(entry->d_name))
            look_at(&look, dirfd(dir), entry->d_name);
        else
            look_within(&look, dirfd(dir), entry->d_name);
    }
    if (dir)
        closedir(dir);
    return look;
}
