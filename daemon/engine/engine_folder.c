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
    static const char *const names[] = {"config.json",
                                        "generation_config.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "chat_template.jinja",
                                        "modules.json",
                                        "sentence_bert_config.json",
                                        "config_sentence_transformers.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return strstr(name, ".safetensors"); /* an index may name any */
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

/* A file, or several of a split model, which may come one after the other. */
static void look_at_parts(struct folder_look *look, const char *path)
{
    size_t count = gguf_named_parts(path);
    struct buf part = {0};
    for (size_t i = 0; i < count; i++) {
        buf_clear(&part);
        gguf_put_part(path, i, &part);
        look_at(look, AT_FDCWD, part.data);
    }
    buf_free(&part);
}

struct folder_look folder_look(const char *folder)
{
    struct folder_look look = {0};
    struct dirent *entry;
    if (gguf_is_path(folder))
        look_at_parts(&look, folder);
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
