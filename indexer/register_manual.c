/* Registering a folder as a manual. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "indexer/index.h"
#include "indexer/scan.h"
#include "indexer/source.h"

enum { MAX_NAME = 200 };

/* A folder's name that says nothing: its parent's is taken. */
static bool is_plain_name(struct slice name)
{
    static const char *const plain[] = {"html",   "doc",   "docs", "htmldocs",
                                        "manual", "share", "en",   "www"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (name.size == strlen(plain[i]) &&
            !strncasecmp(name.data, plain[i], name.size))
            return true;
    return false;
}

static struct slice last_part(const char *root, size_t *end)
{
    while (*end > 1 && root[*end - 1] == '/')
        --*end;
    size_t from = *end;
    while (from > 0 && root[from - 1] != '/')
        from--;
    struct slice part = {root + from, *end - from};
    *end = from;
    return part;
}

/* "Pumps.docset" is Dash's form of the manual Pumps. */
static struct slice without_ending(struct slice name)
{
    static const char ending[] = ".docset";
    size_t size = sizeof ending - 1;
    if (name.size > size && !memcmp(name.data + name.size - size, ending, size))
        name.size -= size;
    return name;
}

static char *own_name(const char *root)
{
    size_t end = strlen(root);
    struct slice name = last_part(root, &end);
    while (is_plain_name(name) && end > 1) {
        struct slice above = last_part(root, &end);
        if (!above.size)
            break;
        name = above;
    }
    name = without_ending(name);
    return name.size ? mem_strndup(name.data, name.size) : mem_strdup("manual");
}

struct taken {
    struct manual *manuals;
    size_t count;
};

static struct manual *find_by(const struct taken *taken, const char *name,
                              const char *root)
{
    for (size_t i = 0; i < taken->count; i++)
        if ((name && !strcmp(taken->manuals[i].name, name)) ||
            (root && !strcmp(taken->manuals[i].root, root)))
            return &taken->manuals[i];
    return NULL;
}

static char *free_name(const struct taken *taken, const char *root)
{
    char *base = own_name(root);
    struct buf name = {0};
    buf_put_text(&name, base);
    for (int n = 2; find_by(taken, name.data, NULL); n++) {
        buf_clear(&name);
        buf_printf(&name, "%s-%d", base, n);
    }
    free(base);
    return name.data;
}

static int check_name(const char *name, struct err *err)
{
    size_t size = name ? strlen(name) : 0;
    if (size > MAX_NAME)
        return err_set(err, ERR_USAGE, "a name has at most %d bytes", MAX_NAME);
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 127)
            return err_set(err, ERR_USAGE,
                           "a name has no control characters in it");
    return 0;
}

static int check_folder(const struct source_root *folder, const char *ignore,
                        struct err *err)
{
    const char *root = folder->path;
    struct stat st;
    if (stat(root, &st) < 0)
        return err_errno(err, ERR_USAGE, "cannot add %s", root);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_USAGE, "cannot add %s: not a folder", root);
    struct scan scan;
    int code = scan_folder(folder, ignore, &scan, err);
    if (code)
        return code;
    size_t count = 0;
    for (size_t i = 0; i < scan.count; i++)
        count += !scan.files[i].not_followed;
    bool only_links = scan.count && !count;
    scan_free(&scan);
    if (only_links)
        return err_set(err, ERR_NOT_FOUND,
                       "%s holds only links that lead out of it: lectern add "
                       "--follow-links, if you trust it",
                       root);
    return count ? 0
                 : err_set(err, ERR_NOT_FOUND,
                           "%s holds no file that Lectern reads (" SOURCE_NAMES
                           ")",
                           root);
}

/* The manual that a folder is given to: the one that has it, or one of that name that
 * was unpacked without its files. */
static struct manual *find_old(const struct taken *taken, const char *name,
                               const char *root)
{
    struct manual *old = find_by(taken, NULL, root);
    struct manual *named = name ? find_by(taken, name, NULL) : NULL;
    if (old || !named || named->root[0])
        return old;
    free(named->root);
    named->root = mem_strdup(root);
    return named;
}

/* Adds a record, or changes the one that has this root. */
static int record(struct store_txn *txn, const struct taken *taken,
                  const struct source_root *folder, const char *name,
                  const char *ignore, struct manual *ret_manual,
                  struct err *err)
{
    const char *root = folder->path;
    struct manual *old = find_old(taken, name, root);
    const struct manual *holder = name ? find_by(taken, name, NULL) : NULL;
    if (holder && holder != old)
        return err_set(err, ERR_USAGE,
                       "the name %s is taken by %s: choose "
                       "another with -c",
                       name, holder->root);
    struct manual manual = {0};
    if (old) {
        manual = *old;
        *old = (struct manual){0};
        free(manual.ignore);
    } else {
        manual.root = mem_strdup(root);
    }
    if (name || !manual.name) {
        char *chosen = name ? mem_strdup(name) : free_name(taken, root);
        free(manual.name);
        manual.name = chosen;
    }
    manual.ignore = mem_strdup(ignore);
    manual.all_links = folder->all_links;
    int code = store_put_manual(txn, &manual, err);
    if (code)
        manual_free(&manual);
    else
        *ret_manual = manual;
    return code;
}

int index_register(struct store *store, const struct source_root *root,
                   const char *name, const char *ignore,
                   struct manual *ret_manual, struct err *err)
{
    int code = check_name(name, err);
    if (!code)
        code = check_folder(root, ignore ? ignore : "", err);
    struct store_txn *txn;
    if (!code)
        code = store_write(store, &txn, err);
    if (code)
        return code;
    struct taken taken = {0};
    code = store_list_manuals(txn, &taken.manuals, &taken.count, err);
    if (!code)
        code = record(txn, &taken, root, name && *name ? name : NULL,
                      ignore ? ignore : "", ret_manual, err);
    for (size_t i = 0; i < taken.count; i++)
        manual_free(&taken.manuals[i]);
    free(taken.manuals);
    if (code) {
        store_end(txn);
        return code;
    }
    code = store_commit(txn, err);
    if (code)
        manual_free(ret_manual);
    return code;
}
