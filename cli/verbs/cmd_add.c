#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/archive/unpacked.h"
#include "cli/cli.h"
#include "cli/installed/add_installed.h"
#include "cli/installed/man_pages.h"
#include "cli/output/output.h"
#include "cli/verbs/add_archive.h"

/* What is added. */
struct added {
    char *folder;
    char *archive;         /* what its files are unpacked from; NULL: nothing */
    struct own_manual own; /* of an archive */
};

static void added_free(struct added *added)
{
    own_manual_free(&added->own);
    free(added->folder);
    free(added->archive);
}

static int make_man_pages(struct cli *cli, char **ret_folder, struct err *err)
{
    char *place;
    struct buf folder = {0};
    int code = add_archive_place(cli, &place, NULL, err);
    if (code)
        return code;
    code = man_pages_make(cli, place, cli->options.man, &folder, err);
    free(place);
    if (!code)
        *ret_folder = folder.data;
    return code;
}

/* The folder that is given or made for manual pages, or the archive. */
static int find_folder(struct cli *cli, struct added *ret, struct err *err)
{
    struct stat st;
    if (cli->options.man)
        return make_man_pages(cli, &ret->folder, err);
    const char *given = cli->args.items[0];
    char *path = realpath(given, NULL);
    if (!path || stat(path, &st)) {
        free(path);
        return err_errno(err, ERR_USAGE, "cannot add %s", given);
    }
    if (S_ISDIR(st.st_mode)) {
        ret->folder = path;
        return add_archive_check_folder(cli, path, err);
    }
    ret->archive = path;
    if (!S_ISREG(st.st_mode) || !unpacked_is_archive(path))
        return err_set(err, ERR_USAGE,
                       "cannot add %s: it is neither a folder nor a .zip, "
                       ".epub, .jar or .tar",
                       given);
    return 0;
}

/* The whole system, a top-level folder of it, or all that a person has. */
static bool is_vast(const char *folder)
{
    const char *home = getenv("HOME");
    char *own = home ? realpath(home, NULL) : NULL;
    bool vast = !strchr(folder + 1, '/') || (own && !strcmp(folder, own));
    free(own);
    return vast;
}

static int check_vast(const struct cli *cli, const char *folder,
                      struct err *err)
{
    char answer[16] = "";
    if (cli->options.yes || !is_vast(folder))
        return 0;
    if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
        fprintf(stderr,
                "All HTML and LaTeX files below %s become one manual. "
                "Go on? [y/N] ",
                folder);
        if (fgets(answer, sizeof answer, stdin) &&
            (answer[0] == 'y' || answer[0] == 'Y'))
            return 0;
        return err_set(err, ERR_CANCELLED, "%s was not added", folder);
    }
    return err_set(err, ERR_USAGE,
                   "%s holds more than a manual: name the manual's folder, or "
                   "add --yes if all of it is meant",
                   folder);
}

static void build(struct cli *cli, const struct added *added,
                  const char *folder, bool only_check, struct buf *params)
{
    const struct options *options = &cli->options;
    const char *name = added->own.name;
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_field_text(&json, "dir", folder);
    cli_param_text(&json, "name", name ? name : options->manual);
    cli_param_true(&json, "moves", added->own.is_known);
    cli_param_true(&json, "check", only_check);
    if (options->ignore.count) {
        json_key(&json, "ignore");
        json_begin(&json, '[');
        for (size_t i = 0; i < options->ignore.count; i++)
            if (options->ignore.items[i][0])
                json_text(&json, options->ignore.items[i]);
        json_end(&json, ']');
    }
    if (options->follow_links || options->no_follow_links)
        json_field_bool(&json, "follow_links", options->follow_links);
    cli_param_true(&json, "wait", options->wait);
    json_end(&json, '}');
}

/* The name under which the manual is known, as far as the reply tells. */
static const char *name_of(const struct cli *cli, const cJSON *result,
                           const char *folder)
{
    const char *given = cli->options.manual;
    const char *name = json_get_text(result, "manual", NULL);
    if (!name)
        name = json_get_text(result, "name", NULL);
    return name ? name : given ? given : strrchr(folder, '/') + 1;
}

/* Speaks of the archive, not of where it was unpacked for a look. */
static void name_archive(struct err *err, const char *fresh,
                         const char *archive)
{
    const char *at = strstr(err->message, fresh);
    struct buf message = {0};
    if (!at)
        return;
    buf_put(&message, err->message, (size_t)(at - err->message));
    buf_put_text(&message, archive);
    buf_put_text(&message, at + strlen(fresh));
    err_set(err, err->code, "%s", message.data);
    buf_free(&message);
}

/* Unpacks an archive and has the daemon look at it: only then are files replaced. */
static int unpack_alone(struct cli *cli, const struct added *added,
                        struct err *err)
{
    const struct own_manual *own = &added->own;
    const char *name = unpacked_name(own->place, own->folder.data);
    struct buf fresh = {0}, params = {0}, result = {0};
    int code = unpacked_make(added->archive, own->place, name, &fresh, err);
    if (code)
        return code;
    build(cli, added, fresh.data, true, &params);
    code = cli_call(cli, "add", buf_slice(&params), &result, err);
    if (code) {
        name_archive(err, fresh.data, added->archive);
        file_remove_folder(fresh.data);
    } else {
        code = unpacked_settle(own->place, name, added->archive, err);
    }
    buf_free(&fresh);
    buf_free(&params);
    buf_free(&result);
    return code;
}

/* Two that unpack one archive at once would each take the other's files away; the later
 * one finds what the one before has made. */
static int unpack(struct cli *cli, struct added *added, struct err *err)
{
    int fd;
    char *place = NULL;
    int code = add_archive_place(cli, &place, NULL, err);
    if (!code)
        code = unpacked_lock(place, &fd, err);
    free(place);
    if (code)
        return code;
    code = add_archive_find(cli, added->archive, &added->own, err);
    if (!code) {
        added->folder = mem_strdup(added->own.folder.data);
        code = unpack_alone(cli, added, err);
    }
    close(fd);
    return code;
}

static int add(struct cli *cli, const struct added *added, struct err *err)
{
    struct buf params = {0}, line = {0};
    cJSON *result = NULL;
    build(cli, added, added->folder, false, &params);
    int code = cli_request(cli, "add", buf_slice(&params), &result, err);
    /* Nothing is known by an unpacked folder that was refused. */
    if ((code == ERR_USAGE || code == ERR_NOT_FOUND) && added->archive &&
        !added->own.is_known)
        unpacked_remove(added->own.place, added->folder);
    if (code == ERR_CANCELLED)
        output_remark(cli,
                      "indexing goes on in the background: lectern status");
    if (!code && result) {
        const char *name = name_of(cli, result, added->folder);
        if (!cli->options.wait || !output_put_index_summary(&line, result))
            buf_printf(&line, "indexing %s in the background: lectern status\n",
                       name);
        output_text(line.data);
    }
    cJSON_Delete(result);
    buf_free(&line);
    buf_free(&params);
    return code;
}

int cmd_add(struct cli *cli, struct err *err)
{
    struct added added = {0};
    if (cli->options.installed && cli->options.man)
        return err_set(err, ERR_USAGE, "--installed and --man: choose one");
    if (cli->options.installed &&
        (cli->options.manual || cli->options.ignore.count ||
         cli->options.follow_links || cli->options.no_follow_links))
        return err_set(err, ERR_USAGE,
                       "--installed takes names and folders as they are "
                       "registered: no -c, --ignore or --follow-links");
    if (cli->options.follow_links && cli->options.no_follow_links)
        return err_set(err, ERR_USAGE,
                       "--follow-links and --no-follow-links: choose one");
    if (cli->options.installed)
        return add_installed(cli, err);
    if (cli->args.count != (cli->options.man ? 0 : 1))
        return err_set(err, ERR_USAGE,
                       "add takes one folder or archive, or --installed, or "
                       "--man: lectern help "
                       "add");
    if (!cli->options.man && !cli->args.items[0][0])
        return err_set(err, ERR_USAGE, "add: the folder's name is empty");
    int code = find_folder(cli, &added, err);
    if (!code)
        code = added.archive ? unpack(cli, &added, err)
                             : check_vast(cli, added.folder, err);
    if (!code)
        code = add(cli, &added, err);
    added_free(&added);
    return code;
}
