/* A record has fields as mail has: "Document: NAME" and "Title:" in its first part,
 * "Format:" and "Index:" in one part for each format, parts divided by blank lines. */
#include "cli/installed/doc_base.h"

#include <dirent.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

enum {
    MAX_RECORD = 1 << 20,
    MAX_OPEN = 16 /* folders, while one is measured */
};

struct record {
    char *name, *title;
    char *format, *index; /* of the part that is being read */
    char *page;           /* Index of the HTML part */
};

static void end_part(struct record *record)
{
    if (!record->page && record->format && record->index &&
        !strcasecmp(record->format, "html")) {
        record->page = record->index;
        record->index = NULL;
    }
    free(record->format);
    free(record->index);
    record->format = record->index = NULL;
}

static void take_field(char **field, struct slice line, const char *key)
{
    size_t size = strlen(key);
    if (*field || line.size < size || strncasecmp(line.data, key, size) != 0)
        return;
    struct buf value = {0};
    buf_put(&value, "", 0);
    text_fold_space(&value, (struct slice){line.data + size, line.size - size});
    *field = value.data;
}

static void read_line(struct record *record, struct slice line)
{
    if (!line.size || (line.size == 1 && line.data[0] == '\r')) {
        end_part(record);
        return;
    }
    take_field(&record->name, line, "Document:");
    take_field(&record->title, line, "Title:");
    take_field(&record->format, line, "Format:");
    take_field(&record->index, line, "Index:");
}

static void read_record(struct slice text, struct record *record)
{
    while (text.size) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        read_line(record, (struct slice){text.data, size});
        size += end != NULL;
        text = (struct slice){text.data + size, text.size - size};
    }
    end_part(record);
}

static void record_free(struct record *record)
{
    free(record->name);
    free(record->title);
    free(record->page);
}

/* ---- How large it is ---- */

static struct doc_base_manual *measured; /* nftw has no argument for it */

static bool is_html(const char *name)
{
    static const char *const endings[] = {".html", ".htm", ".xhtml", ".html.gz",
                                          ".htm.gz"};
    size_t size = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (size > ending && !strcasecmp(name + size - ending, endings[i]))
            return true;
    }
    return false;
}

static int measure_file(const char *path, const struct stat *st, int kind,
                        struct FTW *at)
{
    (void)at;
    if (kind == FTW_F && is_html(path)) {
        measured->files++;
        measured->bytes += (uint64_t)st->st_size;
    }
    return 0;
}

static void measure(struct doc_base_manual *manual)
{
    measured = manual;
    nftw(manual->folder, measure_file, MAX_OPEN, FTW_PHYS);
    measured = NULL;
}

/* ---- All of them ---- */

static bool is_known(const struct doc_base *doc_base, const char *folder)
{
    for (size_t i = 0; i < doc_base->count; i++)
        if (!strcmp(doc_base->manuals[i].folder, folder))
            return true;
    return false;
}

static void add_record(struct doc_base *doc_base, struct record *record)
{
    char *page =
        record->name && record->page ? realpath(record->page, NULL) : NULL;
    char *slash = page ? strrchr(page, '/') : NULL;
    if (slash && slash > page && is_html(page)) {
        *slash = '\0';
        if (!is_known(doc_base, page)) {
            MEM_RESERVE(doc_base->manuals, &doc_base->capacity,
                        doc_base->count + 1);
            struct doc_base_manual *manual =
                &doc_base->manuals[doc_base->count++];
            *manual = (struct doc_base_manual){
                .name = record->name,
                .title = record->title ? record->title : mem_strdup(""),
                .folder = page};
            record->name = record->title = page = NULL;
            measure(manual);
        }
    }
    free(page);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int compare(const void *a, const void *b)
{
    const struct doc_base_manual *x = a, *y = b;
    return strcmp(x->name, y->name);
}

const char *doc_base_folder(void)
{
    const char *folder = getenv("LECTERN_DOC_BASE");
    return folder && folder[0] ? folder : "/usr/share/doc-base";
}

void doc_base_read(const char *folder, struct doc_base *doc_base)
{
    struct dirent **entries;
    *doc_base = (struct doc_base){0};
    int count = scandir(folder, &entries, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        struct buf path = {0}, text = {0};
        struct record record = {0};
        file_join(&path, folder, entries[i]->d_name);
        if (!file_read(path.data, MAX_RECORD, &text, NULL)) {
            read_record(buf_slice(&text), &record);
            add_record(doc_base, &record);
        }
        record_free(&record);
        buf_free(&text);
        buf_free(&path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    if (doc_base->count)
        qsort(doc_base->manuals, doc_base->count, sizeof *doc_base->manuals,
              compare);
}

void doc_base_free(struct doc_base *doc_base)
{
    for (size_t i = 0; i < doc_base->count; i++) {
        free(doc_base->manuals[i].name);
        free(doc_base->manuals[i].title);
        free(doc_base->manuals[i].folder);
    }
    free(doc_base->manuals);
    *doc_base = (struct doc_base){0};
}
