#include "indexer/parse/html/dom/depth.h"

#include <gumbo.h>

/* Many more than any page means to have open at once. */
enum { MAX_FORMATTING = 20000 };

_Static_assert(GUMBO_TAG_LAST < 512, "depth.of_tag is too small");

/* Elements that hold nothing, that another's start closes, or that are closed
 * with what is around them: none of them nests in itself. */
enum { COUNTED, PASSED_OVER, VOID, FORMATTING };

static const unsigned char kinds[GUMBO_TAG_LAST + 1] = {
    [GUMBO_TAG_AREA] = VOID,
    [GUMBO_TAG_BASE] = VOID,
    [GUMBO_TAG_BASEFONT] = VOID,
    [GUMBO_TAG_BGSOUND] = VOID,
    [GUMBO_TAG_BR] = VOID,
    [GUMBO_TAG_COL] = VOID,
    [GUMBO_TAG_EMBED] = VOID,
    [GUMBO_TAG_FRAME] = VOID,
    [GUMBO_TAG_HR] = VOID,
    [GUMBO_TAG_IMG] = VOID,
    [GUMBO_TAG_IMAGE] = VOID,
    [GUMBO_TAG_INPUT] = VOID,
    [GUMBO_TAG_KEYGEN] = VOID,
    [GUMBO_TAG_LINK] = VOID,
    [GUMBO_TAG_META] = VOID,
    [GUMBO_TAG_PARAM] = VOID,
    [GUMBO_TAG_SOURCE] = VOID,
    [GUMBO_TAG_TRACK] = VOID,
    [GUMBO_TAG_WBR] = VOID,
    [GUMBO_TAG_P] = PASSED_OVER,
    [GUMBO_TAG_LI] = PASSED_OVER,
    [GUMBO_TAG_DT] = PASSED_OVER,
    [GUMBO_TAG_DD] = PASSED_OVER,
    [GUMBO_TAG_TR] = PASSED_OVER,
    [GUMBO_TAG_TD] = PASSED_OVER,
    [GUMBO_TAG_TH] = PASSED_OVER,
    [GUMBO_TAG_THEAD] = PASSED_OVER,
    [GUMBO_TAG_TBODY] = PASSED_OVER,
    [GUMBO_TAG_TFOOT] = PASSED_OVER,
    [GUMBO_TAG_COLGROUP] = PASSED_OVER,
    [GUMBO_TAG_CAPTION] = PASSED_OVER,
    [GUMBO_TAG_OPTION] = PASSED_OVER,
    [GUMBO_TAG_OPTGROUP] = PASSED_OVER,
    [GUMBO_TAG_RB] = PASSED_OVER,
    [GUMBO_TAG_RT] = PASSED_OVER,
    [GUMBO_TAG_RP] = PASSED_OVER,
    [GUMBO_TAG_RTC] = PASSED_OVER,
    [GUMBO_TAG_HTML] = PASSED_OVER,
    [GUMBO_TAG_HEAD] = PASSED_OVER,
    [GUMBO_TAG_BODY] = PASSED_OVER,
    [GUMBO_TAG_A] = PASSED_OVER,
    [GUMBO_TAG_NOBR] = FORMATTING,
    /* Formatting is often left open, and closed with its paragraph. */
    [GUMBO_TAG_B] = FORMATTING,
    [GUMBO_TAG_BIG] = FORMATTING,
    [GUMBO_TAG_CODE] = FORMATTING,
    [GUMBO_TAG_EM] = FORMATTING,
    [GUMBO_TAG_FONT] = FORMATTING,
    [GUMBO_TAG_I] = FORMATTING,
    [GUMBO_TAG_S] = FORMATTING,
    [GUMBO_TAG_SMALL] = FORMATTING,
    [GUMBO_TAG_STRIKE] = FORMATTING,
    [GUMBO_TAG_STRONG] = FORMATTING,
    [GUMBO_TAG_TT] = FORMATTING,
    [GUMBO_TAG_U] = FORMATTING,
};

/* All headings count as one: the end tag of any closes that which is open, and
 * so does the start of the next. */
static unsigned tag_of(const struct markup *markup)
{
    unsigned tag =
        gumbo_tagn_enum(markup->name.data, (unsigned)markup->name.size);
    return tag > GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6 ? GUMBO_TAG_H1 : tag;
}

static void close_tag(struct depth *depth, unsigned tag)
{
    unsigned closed = GUMBO_TAG_LAST;
    while (depth->of_tag[tag] && closed != tag) {
        closed = depth->open[--depth->count];
        depth->of_tag[closed]--;
    }
}

/* What stands in the way of formatting closes it; until then it nests. */
static bool is_open_too_often(struct depth *depth, int kind, bool open)
{
    if (kind == FORMATTING && open)
        depth->formatting++;
    else if (kind == FORMATTING)
        depth->formatting -= depth->formatting > 0;
    else if (kind == PASSED_OVER || (kind == COUNTED && !open))
        depth->formatting = 0;
    return depth->formatting > MAX_FORMATTING;
}

bool depth_tag(struct depth *depth, const struct markup *markup)
{
    if (markup->kind == MARKUP_OTHER)
        return true;
    unsigned tag = tag_of(markup);
    if (is_open_too_often(depth, kinds[tag], markup->kind == MARKUP_OPEN))
        return false;
    if (kinds[tag] != COUNTED)
        return true;
    if (markup->kind == MARKUP_CLOSE) {
        close_tag(depth, tag);
        return true;
    }
    if (tag == GUMBO_TAG_H1 && depth->count &&
        depth->open[depth->count - 1] == tag)
        return true;
    if (depth->count == DEPTH_MAX)
        return false;
    depth->open[depth->count++] = (uint16_t)tag;
    depth->of_tag[tag]++;
    return true;
}
