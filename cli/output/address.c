#include "cli/output/address.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/url.h"

enum { MAX_WORDS = 32, FRAGMENT_WORDS = 10, FRAGMENT_BYTES = 160 };

/* The first words, as many as tell the place; `-`, `,` and `&` have a meaning
 * in a text fragment and are encoded. */
static void put_fragment(struct buf *out, const char *text)
{
    struct buf folded = {0};
    text_fold_space(&folded, slice_of(text));
    size_t size = 0;
    for (int words = 0; words < FRAGMENT_WORDS; words++) {
        size_t next = size + (size > 0);
        if (size == folded.size)
            break;
        next += strcspn(folded.data + next, " ");
        if (size && next > FRAGMENT_BYTES)
            break;
        size = next;
    }
    if (size) {
        buf_put_text(out, "#:~:text=");
        url_put_encoded(out, (struct slice){folded.data, size}, "._~");
    }
    buf_free(&folded);
}

void address_put_url(struct buf *out, const char *file, const char *anchor,
                     const char *text)
{
    buf_put_text(out, "file://");
    url_put_encoded(out, slice_of(file), "/._~-");
    if (anchor && anchor[0]) {
        buf_put_byte(out, '#');
        url_put_encoded(out, slice_of(anchor), "._~-!$&'()*+,;=:@/?");
    } else if (text) {
        put_fragment(out, text);
    }
}

/* One word of the command, `%s` in it replaced. */
static char *fill_in(const char *word, size_t size, const char *argument,
                     bool *ret_used)
{
    struct buf out = {0};
    for (size_t i = 0; i < size; i++) {
        if (word[i] == '%' && i + 1 < size && word[i + 1] == 's') {
            buf_put_text(&out, argument);
            *ret_used = true;
            i++;
        } else {
            buf_put_byte(&out, word[i]);
        }
    }
    return out.data;
}

int address_run(const char *command, const char *before, const char *argument)
{
    char *words[MAX_WORDS + 3] = {0};
    size_t count = 0;
    bool used = false;
    pid_t child;
    int status = 127 << 8;
    for (const char *at = command; *at && count < MAX_WORDS;) {
        size_t size = strcspn(at, " ");
        if (size)
            words[count++] = fill_in(at, size, argument, &used);
        at += size + (at[size] == ' ');
    }
    if (!count)
        return 127;
    if (!used && before)
        words[count++] = mem_strdup(before);
    if (!used)
        words[count++] = mem_strdup(argument);
    if (posix_spawnp(&child, words[0], NULL, NULL, words, environ) == 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    while (count)
        free(words[--count]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
