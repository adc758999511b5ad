#include "daemon/grep/grep_scan.h"

#include <string.h>

#include "base/file.h"
#include "daemon/grep/grep_text.h"

/* What is being looked through. */
struct place {
    const struct view *view;
    uint32_t node;
    const struct content *content;
    const struct block *block;
};

static size_t line_start(struct slice text, size_t at)
{
    while (at && text.data[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(struct slice text, size_t at)
{
    const char *end = memchr(text.data + at, '\n', text.size - at);
    return end ? (size_t)(end - text.data) : text.size;
}

static bool is_cancelled(const struct grep_scan *scan)
{
    return scan->cancelled && atomic_load(scan->cancelled);
}

static bool is_done(const struct grep_scan *scan)
{
    return scan->more || scan->late || is_cancelled(scan);
}

static void take(struct grep_scan *scan, const struct place *place,
                 struct slice text, size_t start, size_t end)
{
    if (scan->count == scan->max) {
        scan->more = true;
        return;
    }
    size_t from = line_start(text, start);
    size_t to = line_end(text, end - (text.data[end - 1] == '\n'));
    struct grep_match match = {.view = place->view,
                               .node = place->node,
                               .content = place->content,
                               .block = place->block,
                               .text = {text.data + from, to - from},
                               .start = start - from,
                               .end = (end < to ? end : to) - from};
    scan->count++;
    scan->take(scan->context, &match);
}

/* One match a line.  `read`: how the text reads, NULL: as it stands.  Returns how many
 * there are. */
static size_t look_through(struct grep_scan *scan, const struct place *place,
                           struct slice text, const struct grep_text *read)
{
    struct slice looked = read ? buf_slice(&read->bytes) : text;
    size_t start, end, count = 0;
    for (size_t at = 0; at < looked.size && !is_done(scan); count++) {
        enum grep_found found =
            grep_pattern_next(scan->pattern, looked, at, &start, &end);
        scan->given_up += found == GREP_GIVEN_UP;
        if (found != GREP_FOUND)
            break;
        if (read)
            take(scan, place, text, read->from[start], read->to[end - 1]);
        else
            take(scan, place, text, start, end);
        at = line_end(looked, end - 1) + 1;
    }
    return count;
}

/* Words are matched as they are read, whatever hyphenates them; who looks for what
 * does so finds that, too. */
static void look_at(struct grep_scan *scan, const struct place *place,
                    struct slice text)
{
    struct grep_text read = {0};
    if (!grep_text_read(&read, text) || !look_through(scan, place, text, &read))
        look_through(scan, place, text, NULL);
    grep_text_free(&read);
}

/* An entry without words about it holds its title once more. */
static bool repeats_title(const struct place *place, const struct block *block)
{
    return block->kind == BLOCK_DEFINITION &&
           slice_equal(block->text,
                       place->view->outline->nodes[place->node].title);
}

static int look_at_blocks(struct grep_scan *scan, struct place *place,
                          struct err *err)
{
    struct content content;
    int code =
        content_open(scan->snapshot, place->view, place->node, &content, err);
    if (code)
        return code == ERR_NOT_FOUND ? 0 : code;
    place->content = &content;
    for (uint32_t b = 0; b < content.node->block_count && !is_done(scan); b++) {
        place->block = &content.node->blocks[b];
        if (!repeats_title(place, place->block))
            look_at(scan, place, place->block->text);
        scan->late |= clock_seconds() > scan->until;
    }
    content_close(&content);
    return 0;
}

int grep_scan_range(struct grep_scan *scan, const struct grep_range *range,
                    struct err *err)
{
    int code = 0;
    for (uint32_t n = range->from; n < range->end && !code && !is_done(scan);
         n++) {
        struct place place = {.view = range->view, .node = n};
        if (n) /* the root is called as the manual is */
            look_at(scan, &place, range->view->outline->nodes[n].title);
        if (range->view->outline->nodes[n].words)
            code = look_at_blocks(scan, &place, err);
    }
    if (!code && is_cancelled(scan))
        code = err_set(err, ERR_CANCELLED, "cancelled");
    return code;
}
