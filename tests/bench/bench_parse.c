/* How fast HTML becomes trees, on one core: our parser process, files read
 * included, against bare gumbo over the same bytes in the same run; and
 * pandoc, where it is installed, over every 20th file in one process.
 *
 *     parse FOLDER LECTERN-PARSE      prints one JSON object */
#include <gumbo.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/json.h"
#include "indexer/parser.h"
#include "indexer/scan.h"
#include "indexer/source.h"

enum { ROUNDS = 3, PANDOC_EACH = 20 };

struct corpus {
    const char *root;
    struct scan scan;
    double bytes;
};

static void path_of(const struct corpus *corpus, size_t i, struct buf *path)
{
    buf_clear(path);
    file_join(path, corpus->root, corpus->scan.files[i].path);
}

static double best_of(double (*once)(const struct corpus *, void *),
                      const struct corpus *corpus, void *context)
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        double seconds = once(corpus, context);
        best = seconds < best ? seconds : best;
    }
    return best;
}

static double with_lectern(const struct corpus *corpus, void *context)
{
    struct parser *parser = context;
    struct buf path = {0}, bytes = {0};
    struct tree *tree;
    double start = clock_seconds();
    for (size_t i = 0; i < corpus->scan.count; i++) {
        path_of(corpus, i, &path);
        if (!file_read(path.data, PARSER_MAX_BYTES, &bytes, NULL) &&
            !parser_parse(parser, buf_slice(&bytes), source_format(path.data),
                          NULL, &tree, NULL))
            tree_free(tree);
        buf_free(&bytes);
    }
    buf_free(&path);
    return clock_seconds() - start;
}

static double with_gumbo(const struct corpus *corpus, void *context)
{
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    (void)context;
    struct buf path = {0}, bytes = {0};
    double start = clock_seconds();
    for (size_t i = 0; i < corpus->scan.count; i++) {
        path_of(corpus, i, &path);
        if (!file_read(path.data, PARSER_MAX_BYTES, &bytes, NULL))
            gumbo_destroy_output(
                &options,
                gumbo_parse_with_options(&options, bytes.data, bytes.size));
        buf_free(&bytes);
    }
    buf_free(&path);
    return clock_seconds() - start;
}

/* MB/s; 0: pandoc is not there. */
static double with_pandoc(const struct corpus *corpus)
{
    if (system("pandoc --version >/dev/null 2>&1") != 0)
        return 0;
    struct buf command = {0}, path = {0};
    double bytes = 0;
    buf_put_text(&command, "pandoc -f html -t native");
    for (size_t i = 0; i < corpus->scan.count; i += PANDOC_EACH) {
        path_of(corpus, i, &path);
        buf_printf(&command, " '%s'", path.data);
        bytes += (double)corpus->scan.files[i].size;
    }
    buf_put_text(&command, " >/dev/null 2>&1");
    double start = clock_seconds();
    int status = system(command.data);
    double seconds = clock_seconds() - start;
    buf_free(&command);
    buf_free(&path);
    return status == 0 ? bytes / 1e6 / seconds : 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: parse FOLDER LECTERN-PARSE\n", stderr);
        return 2;
    }
    struct corpus corpus = {.root = argv[1]};
    struct parser_options options = {.program = argv[2]};
    struct err err;
    if (scan_folder(&(struct source_root){.path = corpus.root}, "",
                    &corpus.scan, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < corpus.scan.count; i++)
        corpus.bytes += (double)corpus.scan.files[i].size;
    struct parser *parser = parser_new(&options);
    double ours = corpus.bytes / 1e6 / best_of(with_lectern, &corpus, parser);
    double gumbo = corpus.bytes / 1e6 / best_of(with_gumbo, &corpus, NULL);
    double pandoc = with_pandoc(&corpus);
    printf("{\"bench\":\"parse\",\"files\":%zu,\"megabytes\":%.1f,"
           "\"lectern_mb_per_s\":%.1f,\"gumbo_alone_mb_per_s\":%.1f,"
           "\"pandoc_mb_per_s\":%.2f}\n",
           corpus.scan.count, corpus.bytes / 1e6, ours, gumbo, pandoc);
    parser_free(parser);
    scan_free(&corpus.scan);
    return 0;
}
