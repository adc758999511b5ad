#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/archive/unpacked.h"
#include "cli/installed/add_installed.h"
#include "cli/installed/man_pages.h"
#include "cli/output/output.h"

/* The folder that is given, or that an archive or manual pages are put into. */
static int find_folder(const struct cli *cli, char **ret_path, struct err *err)
{
    struct stat st;
    struct buf folder = {0};
    if (cli->options.man) {
        int made = man_pages_make(cli, cli->options.man, &folder, err);
        if (!made)
            *ret_path = folder.data;
        return made;
    }
    const char *given = cli->args.items[0];
    char *path = realpath(given, NULL);
    int code = 0;
    if (!path || stat(path, &st)) {
        code = err_errno(err, ERR_USAGE, "cannot add %s", given);
    } else if (S_ISREG(st.st_mode) && unpacked_is_archive(path)) {
        code = unpacked_make(path, cli->options.manual, &folder, err);
        free(path);
        path = folder.data;
    } else if (!S_ISDIR(st.st_mode)) {
        code = err_set(err, ERR_USAGE,
                       "cannot add %s: it is neither a folder nor a .zip "
                       "or .tar",
                       given);
    }
    if (code)
        free(path);
    else
        *ret_path = path;
    return code;
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

static void build(struct cli *cli, const char *folder, struct buf *params)
{
    const struct options *options = &cli->options;
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_field_text(&json, "dir", folder);
    cli_param_text(&json, "name", options->manual);
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

int cmd_add(struct cli *cli, struct err *err)
{
    struct buf params = {0}, line = {0};
    char *folder;
    cJSON *result = NULL;
    if (cli->options.installed &&
        (cli->options.manual || cli->options.ignore.count ||
         cli->options.follow_links))
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
    int code = find_folder(cli, &folder, err);
    if (code)
        return code;
    code = check_vast(cli, folder, err);
    if (code) {
        free(folder);
        return code;
    }
    build(cli, folder, &params);
    code = cli_request(cli, "add", buf_slice(&params), &result, err);
    /* Nothing is known by an unpacked folder that was refused. */
    if (code == ERR_USAGE || code == ERR_NOT_FOUND)
        unpacked_remove(folder);
    if (code == ERR_CANCELLED)
        output_remark(cli,
                      "indexing goes on in the background: lectern status");
    if (!code && result) {
        const char *name = name_of(cli, result, folder);
        if (!cli->options.wait || !output_put_index_summary(&line, result))
            buf_printf(&line, "indexing %s in the background: lectern status\n",
                       name);
        output_text(line.data);
    }
    cJSON_Delete(result);
    buf_free(&line);
    buf_free(&params);
    free(folder);
    return code;
}
