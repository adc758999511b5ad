/* Registering a folder as a manual. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/folder_name.h"
#include "indexer/index.h"
#include "indexer/scan.h"
#include "indexer/source.h"

enum { MAX_NAME = 200 };

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
    char *base = folder_name(root);
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

/* The manual that a folder is given to: the one that has it, or one of that name whose
 * own is gone or never was here. */
static struct manual *find_old(const struct taken *taken,
                               const struct registering *asked)
{
    struct manual *old = find_by(taken, NULL, asked->folder.path);
    struct manual *named =
        asked->name ? find_by(taken, asked->name, NULL) : NULL;
    if (old || !named)
        return old;
    return asked->moves || !named->root[0] || file_is_gone(named->root) ? named
                                                                        : NULL;
}

static int check_free(const struct taken *taken,
                      const struct registering *asked, const struct manual *old,
                      struct err *err)
{
    const struct manual *holder =
        asked->name ? find_by(taken, asked->name, NULL) : NULL;
    if (!holder || holder == old)
        return 0;
    if (!holder->root[0])
        return err_set(err, ERR_USAGE,
                       "the name %s is taken by a manual that was unpacked "
                       "without its files: choose another with -c",
                       asked->name);
    return err_set(err, ERR_USAGE,
                   "the name %s is taken by %s%s: choose another with -c",
                   asked->name, holder->root,
                   file_is_gone(holder->root) ? ", which is gone" : "");
}

static void put_text(char **field, const char *text)
{
    char *copy = mem_strdup(text);
    free(*field);
    *field = copy;
}

/* What the record of the folder's manual becomes. */
static int wanted(const struct taken *taken, const struct registering *asked,
                  struct manual *ret_manual, struct err *err)
{
    struct manual *old = find_old(taken, asked), manual = {0};
    int code = check_free(taken, asked, old, err);
    if (code)
        return code;
    if (old) {
        manual = *old;
        *old = (struct manual){0};
    }
    put_text(&manual.root, asked->folder.path);
    if (asked->name)
        put_text(&manual.name, asked->name);
    else if (!manual.name)
        manual.name = free_name(taken, asked->folder.path);
    if (asked->ignore || !manual.ignore)
        put_text(&manual.ignore, asked->ignore ? asked->ignore : "");
    if (!old || !asked->keeps_links)
        manual.all_links = asked->folder.all_links;
    *ret_manual = manual;
    return 0;
}

static int list_wanted(struct store_txn *txn, const struct registering *asked,
                       struct manual *ret_manual, struct err *err)
{
    struct taken taken = {0};
    int code = store_list_manuals(txn, &taken.manuals, &taken.count, err);
    if (!code)
        code = wanted(&taken, asked, ret_manual, err);
    for (size_t i = 0; i < taken.count; i++)
        manual_free(&taken.manuals[i]);
    free(taken.manuals);
    return code;
}

int index_check(struct store *store, const struct registering *asked,
                struct err *err)
{
    struct store_txn *txn;
    struct manual manual;
    int code = check_name(asked->name, err);
    if (!code)
        code = store_read(store, &txn, err);
    if (code)
        return code;
    code = list_wanted(txn, asked, &manual, err);
    store_end(txn);
    if (code)
        return code;
    struct source_root folder = index_root(&manual);
    folder.except = store_folder(store);
    code = check_folder(&folder, manual.ignore, err);
    manual_free(&manual);
    return code;
}

int index_register(struct store *store, const struct registering *asked,
                   struct manual *ret_manual, struct err *err)
{
    struct store_txn *txn;
    struct manual manual;
    /* The folder is looked into before anything is written. */
    int code = index_check(store, asked, err);
    if (!code)
        code = store_write(store, &txn, err);
    if (code)
        return code;
    code = list_wanted(txn, asked, &manual, err);
    if (code) {
        store_end(txn);
        return code;
    }
    code = store_put_manual(txn, &manual, err);
    if (code)
        store_end(txn);
    else
        code = store_commit(txn, err);
    if (code)
        manual_free(&manual);
    else
        *ret_manual = manual;
    return code;
}
