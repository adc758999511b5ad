#include "cli/installed/add_installed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/installed/doc_base.h"
#include "cli/output/output.h"

#define PACKAGED "/usr/share/" /* what is below it is a package's */

/* Bytes of HTML a second: read, and with the model that is included encoded, as
 * measured on two cores (docs/log/measured.md). */
static const double read_speed = 13e6, encode_speed = 0.3e6;

struct offer {
    struct doc_base registered;
    cJSON *indexed; /* the manuals of `ls` */
    bool *wanted;   /* [registered.count] */
    size_t count;   /* of those */
};

static const cJSON *indexed_at(const struct offer *offer, const char *folder)
{
    const cJSON *manual;
    cJSON_ArrayForEach (manual, offer->indexed)
        if (!strcmp(json_get_text(manual, "root", ""), folder))
            return manual;
    return NULL;
}

static int list_indexed(struct cli *cli, struct offer *offer, struct err *err)
{
    cJSON *result = NULL;
    int code = cli_call_parsed(cli, "ls", slice_of("{}"), &result, err);
    offer->indexed = cJSON_DetachItemFromObjectCaseSensitive(result, "manuals");
    cJSON_Delete(result);
    return code;
}

/* ---- Which of them ---- */

static int want_named(const struct cli *cli, struct offer *offer,
                      struct err *err)
{
    for (size_t a = 0; a < cli->args.count; a++) {
        size_t i = 0;
        while (i < offer->registered.count &&
               strcmp(offer->registered.manuals[i].name, cli->args.items[a]))
            i++;
        if (i == offer->registered.count)
            return err_set(err, ERR_USAGE,
                           "no HTML manual is registered as '%s': lectern add "
                           "--installed lists them",
                           cli->args.items[a]);
        offer->count += !offer->wanted[i];
        offer->wanted[i] = true;
    }
    return 0;
}

static void want_new(struct offer *offer)
{
    for (size_t i = 0; i < offer->registered.count; i++) {
        offer->wanted[i] =
            !indexed_at(offer, offer->registered.manuals[i].folder);
        offer->count += offer->wanted[i];
    }
}

static void put_seconds(struct buf *out, double seconds)
{
    if (seconds < 90)
        buf_printf(out, "%.0f s", seconds < 1 ? 1 : seconds);
    else
        buf_printf(out, "%.0f min", seconds / 60);
}

static void print_offer(const struct cli *cli, const struct offer *offer)
{
    struct buf line = {0};
    double bytes = 0;
    for (size_t i = 0; i < offer->registered.count; i++) {
        const struct doc_base_manual *manual = &offer->registered.manuals[i];
        if (!offer->wanted[i])
            continue;
        struct buf size = {0};
        output_put_bytes(&size, (double)manual->bytes);
        buf_printf(&line, "%-28s %9s  %s", manual->name, size.data,
                   manual->title);
        output_make_label(&line);
        output_line(cli, &line, "    ");
        bytes += (double)manual->bytes;
        buf_clear(&line);
        buf_free(&size);
    }
    output_put_counted(&line, (int64_t)offer->count, "manual", "manuals");
    buf_put_text(&line, ", ");
    output_put_bytes(&line, bytes);
    buf_put_text(&line, ": found by words after about ");
    put_seconds(&line, bytes / read_speed);
    buf_put_text(&line, ", by what they mean (with a model) after about ");
    put_seconds(&line, bytes / encode_speed);
    output_line(cli, &line, "");
    buf_free(&line);
}

/* Whether they are to be added: one question for all, on a terminal. */
static bool is_agreed(const struct cli *cli)
{
    char answer[16] = "";
    if (cli->options.yes || cli->args.count)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        output_remark(cli, "nothing is added: name some, or say --yes for all");
        return false;
    }
    fflush(stdout);
    fputs("Add them? [y/N] ", stderr);
    return fgets(answer, sizeof answer, stdin) &&
           (answer[0] == 'y' || answer[0] == 'Y');
}

/* ---- Adding and removing ---- */

static int add_one(struct cli *cli, const struct doc_base_manual *manual,
                   struct err *err)
{
    struct buf params = {0}, result = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    json_field_text(&json, "dir", manual->folder);
    json_field_text(&json, "name", manual->name);
    cli_param_true(&json, "wait", cli->options.wait);
    json_end(&json, '}');
    int code = cli_call(cli, "add", buf_slice(&params), &result, err);
    buf_free(&params);
    buf_free(&result);
    return code;
}

/* One that cannot be added does not keep the others out. */
static int add_wanted(struct cli *cli, struct offer *offer, struct err *err)
{
    for (size_t i = 0; i < offer->registered.count; i++) {
        const struct doc_base_manual *manual = &offer->registered.manuals[i];
        struct err why = {.position = -1};
        int code = offer->wanted[i] ? add_one(cli, manual, &why) : 0;
        if (code == ERR_UNREACHABLE || code == ERR_CANCELLED) {
            *err = why;
            return code;
        }
        if (code) {
            output_complaint("%s: %s", manual->name, why.message);
            cli->status = err_exit_status(code);
            offer->wanted[i] = false;
            offer->count--;
        }
    }
    return 0;
}

/* A package's folder that has gone went with the package. */
static int remove_gone(struct cli *cli, const struct offer *offer,
                       struct err *err)
{
    const cJSON *manual;
    int code = 0;
    cJSON_ArrayForEach (manual, offer->indexed) {
        const char *folder = json_get_text(manual, "root", "");
        const char *name = json_get_text(manual, "name", "");
        struct buf params = {0}, result = {0};
        struct json json = json_to(&params);
        if (code || strncmp(folder, PACKAGED, strlen(PACKAGED)) != 0 ||
            !file_is_gone(folder))
            continue;
        json_begin(&json, '{');
        json_field_text(&json, "manual", name);
        json_end(&json, '}');
        code = cli_call(cli, "rm", buf_slice(&params), &result, err);
        if (!code)
            output_remark(cli, "%s is removed: %s has gone", name, folder);
        buf_free(&params);
        buf_free(&result);
    }
    return code;
}

static void print_json(const struct offer *offer, bool added)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    json_begin(&json, '{');
    json_key(&json, "installed");
    json_begin(&json, '[');
    for (size_t i = 0; i < offer->registered.count; i++) {
        const struct doc_base_manual *manual = &offer->registered.manuals[i];
        json_begin(&json, '{');
        json_field_text(&json, "name", manual->name);
        json_field_text(&json, "title", manual->title);
        json_field_text(&json, "dir", manual->folder);
        json_field_int(&json, "files", (int64_t)manual->files);
        json_field_int(&json, "bytes", (int64_t)manual->bytes);
        json_field_bool(&json, "added", added && offer->wanted[i]);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    output_json(buf_slice(&out));
    buf_free(&out);
}

static int make_offer(struct cli *cli, struct offer *offer, struct err *err)
{
    int code = remove_gone(cli, offer, err);
    if (code)
        return code;
    if (cli->args.count)
        code = want_named(cli, offer, err);
    else
        want_new(offer);
    if (code)
        return code;
    bool json = cli->options.json, agreed = false;
    if (!offer->count)
        output_remark(cli,
                      offer->registered.count
                          ? "all manuals that packages have registered are "
                            "indexed"
                          : "no package here has registered an HTML manual "
                            "(%s)",
                      doc_base_folder());
    else if (!json)
        print_offer(cli, offer);
    if (offer->count)
        agreed = is_agreed(cli);
    if (agreed)
        code = add_wanted(cli, offer, err);
    if (!code && json)
        print_json(offer, agreed);
    else if (!code && agreed && offer->count && !cli->options.wait)
        output_text("indexing them in the background: lectern status\n");
    return code;
}

int add_installed(struct cli *cli, struct err *err)
{
    struct offer offer = {0};
    doc_base_read(doc_base_folder(), &offer.registered);
    offer.wanted = mem_alloc((offer.registered.count + 1) * sizeof(bool));
    int code = list_indexed(cli, &offer, err);
    if (!code)
        code = make_offer(cli, &offer, err);
    cJSON_Delete(offer.indexed);
    free(offer.wanted);
    doc_base_free(&offer.registered);
    return code;
}
