#include "cli/verbs/add_archive.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder_name.h"
#include "base/mem.h"
#include "cli/archive/unpacked.h"
#include "cli/output/output.h"

struct search {
    const cJSON *manuals;
    const char *archive;
    const char *place;
    char *former; /* where copies of all stores were; NULL: it is the place */
};

static char *real_path(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : mem_strdup(path);
}

int add_archive_place(struct cli *cli, char **ret_place, cJSON **ret_listed,
                      struct err *err)
{
    struct buf place = {0};
    cJSON *listed = NULL;
    int code = cli_call_parsed(cli, "ls", slice_of("{}"), &listed, err);
    if (!code) {
        const char *told = json_get_text(listed, "unpacked", NULL);
        if (told)
            buf_put_text(&place, told);
        else
            config_put_unpacked(&cli->config, &place);
        *ret_place = real_path(place.data);
    }
    if (!code && ret_listed)
        *ret_listed = listed;
    else
        cJSON_Delete(listed);
    buf_free(&place);
    return code;
}

static char *former_place(const char *place)
{
    struct buf former = {0};
    config_user_folder("XDG_DATA_HOME", ".local/share", &former);
    buf_put_text(&former, "/manuals");
    char *real = real_path(former.data);
    buf_free(&former);
    if (!strcmp(real, place)) {
        free(real);
        return NULL;
    }
    return real;
}

/* ---- Manuals that are there ---- */

static bool has_root(const cJSON *manuals, const char *folder)
{
    const cJSON *manual;
    cJSON_ArrayForEach (manual, manuals)
        if (!strcmp(json_get_text(manual, "root", ""), folder))
            return true;
    return false;
}

static const cJSON *by_name(const struct search *search, const char *name)
{
    const cJSON *manual;
    cJSON_ArrayForEach (manual, search->manuals)
        if (!strcmp(json_get_text(manual, "name", ""), name))
            return manual;
    return NULL;
}

/* Whether a manual's folder is a copy of ours: in this store's place, where those of all
 * stores were formerly, or with a note of what it was made of, which are another store's
 * (this one is a backup of that). */
static bool is_copy(const struct search *search, const cJSON *manual)
{
    const char *root = json_get_text(manual, "root", "");
    struct buf source = {0};
    unpacked_put_source(&source, root);
    bool copy = source.size || unpacked_name(search->place, root) ||
                (search->former && unpacked_name(search->former, root));
    buf_free(&source);
    return copy;
}

/* Whether a manual was made of the archive; where nobody has noted of what, as its folder
 * is called. */
static bool is_of(const struct search *search, const cJSON *manual,
                  const char *title)
{
    const char *root = json_get_text(manual, "root", "");
    struct buf source = {0};
    if (!is_copy(search, manual))
        return false;
    unpacked_put_source(&source, root);
    char *called = folder_name(root);
    bool same = source.size ? !strcmp(source.data, search->archive)
                            : !strcmp(called, title);
    free(called);
    buf_free(&source);
    return same;
}

/* The one that is called as the archive goes before others that were made of it. */
static const cJSON *by_archive(const struct search *search, const char *title)
{
    const cJSON *manual, *named = by_name(search, title), *found = NULL;
    if (named && is_of(search, named, title))
        return named;
    cJSON_ArrayForEach (manual, search->manuals)
        if (!found && is_of(search, manual, title))
            found = manual;
    return found;
}

/* ---- A new one ---- */

/* `title`, or that with the first number of which name and folder are free. */
static void put_free(const struct search *search, const char *title,
                     bool any_name, struct buf *ret_name,
                     struct buf *ret_folder)
{
    for (int n = 1;; n++) {
        buf_clear(ret_name);
        buf_clear(ret_folder);
        buf_put_text(ret_name, title);
        if (n > 1)
            buf_printf(ret_name, "-%d", n);
        file_join(ret_folder, search->place, ret_name->data);
        if (access(ret_folder->data, F_OK) &&
            (!any_name || !by_name(search, ret_name->data)))
            return;
    }
}

/* Whether no manual has that name, and its folder was made of the archive and is none's:
 * another process is about to give it to the daemon, or was killed before. */
static bool is_under_way(const struct search *search, const char *name,
                         struct buf *ret_folder)
{
    struct buf source = {0};
    file_join(ret_folder, search->place, name);
    unpacked_put_source(&source, ret_folder->data);
    bool ours = !by_name(search, name) && source.size &&
                !strcmp(source.data, search->archive) &&
                !has_root(search->manuals, ret_folder->data);
    buf_free(&source);
    if (!ours)
        buf_clear(ret_folder);
    return ours;
}

static int find_new(struct cli *cli, const struct search *search,
                    const char *title, struct own_manual *ret, struct err *err)
{
    const char *given = cli->options.manual;
    struct buf name = {0};
    if (!file_is_name(given ? given : title))
        return err_set(err, ERR_USAGE,
                       "an archive's manual needs a name that can be a "
                       "folder's: -c NAME");
    if (is_under_way(search, given ? given : title, &ret->folder)) {
        ret->name = mem_strdup(given ? given : title);
        ret->is_known = true;
        return 0;
    }
    put_free(search, given ? given : title, !given, &name, &ret->folder);
    const cJSON *holder = given ? NULL : by_name(search, title);
    if (holder)
        output_remark(cli,
                      is_copy(search, holder)
                          ? "%s was made of another archive: this one becomes "
                            "%s (with -c %s it takes that one's place)"
                          : "%s is another manual: this one becomes %s",
                      title, name.data, title);
    ret->name = mem_strdup(given ? given : name.data);
    buf_free(&name);
    return 0;
}

/* What is another store's stays there: this one's manual moves. */
static int find_known(const struct search *search, const cJSON *manual,
                      struct own_manual *ret)
{
    const char *root = json_get_text(manual, "root", "");
    struct buf number = {0};
    ret->is_known = true;
    ret->name = mem_strdup(json_get_text(manual, "name", ""));
    if (unpacked_name(search->place, root))
        buf_put_text(&ret->folder, root);
    else
        put_free(search, strrchr(root, '/') + 1, false, &number, &ret->folder);
    buf_free(&number);
    return 0;
}

int add_archive_find(struct cli *cli, const char *archive,
                     struct own_manual *ret, struct err *err)
{
    cJSON *listed = NULL;
    const char *given = cli->options.manual;
    *ret = (struct own_manual){0};
    int code = add_archive_place(cli, &ret->place, &listed, err);
    if (!code)
        code = file_make_folder(ret->place, 0700, err);
    if (code) {
        cJSON_Delete(listed);
        return code;
    }
    char *real = real_path(ret->place);
    free(ret->place);
    ret->place = real;
    struct search search = {
        .manuals = cJSON_GetObjectItemCaseSensitive(listed, "manuals"),
        .archive = archive,
        .place = ret->place,
        .former = former_place(ret->place)};
    char *title = unpacked_title(archive);
    const cJSON *known =
        given ? by_name(&search, given) : by_archive(&search, title);
    if (known && is_copy(&search, known))
        code = find_known(&search, known, ret);
    else
        code = find_new(cli, &search, title, ret, err);
    free(title);
    free(search.former);
    cJSON_Delete(listed);
    return code;
}

void own_manual_free(struct own_manual *manual)
{
    free(manual->place);
    free(manual->name);
    buf_free(&manual->folder);
}

/* ---- A folder that is no archive's ---- */

int add_archive_check_folder(struct cli *cli, const char *folder,
                             struct err *err)
{
    char *place = NULL;
    cJSON *listed = NULL;
    struct buf source = {0};
    int code = add_archive_place(cli, &place, &listed, err);
    unpacked_put_source(&source, folder);
    if (!code && unpacked_name(place, folder) && !source.size &&
        !has_root(cJSON_GetObjectItemCaseSensitive(listed, "manuals"), folder))
        code = err_set(err, ERR_USAGE,
                       "%s lies where Lectern keeps what it has unpacked, and "
                       "would be removed with its manual: put it elsewhere",
                       folder);
    buf_free(&source);
    cJSON_Delete(listed);
    free(place);
    return code;
}
