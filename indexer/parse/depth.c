#include "indexer/parse/depth.h"

#include <gumbo.h>

_Static_assert(GUMBO_TAG_LAST < 512, "depth.of_tag is too small");

/* Elements that hold nothing, that another's start closes, or that are closed
 * with what is around them: none of them nests in itself. */
static const bool passed_over[GUMBO_TAG_LAST + 1] = {
    [GUMBO_TAG_AREA] = true,
    [GUMBO_TAG_BASE] = true,
    [GUMBO_TAG_BASEFONT] = true,
    [GUMBO_TAG_BGSOUND] = true,
    [GUMBO_TAG_BR] = true,
    [GUMBO_TAG_COL] = true,
    [GUMBO_TAG_EMBED] = true,
    [GUMBO_TAG_FRAME] = true,
    [GUMBO_TAG_HR] = true,
    [GUMBO_TAG_IMG] = true,
    [GUMBO_TAG_IMAGE] = true,
    [GUMBO_TAG_INPUT] = true,
    [GUMBO_TAG_KEYGEN] = true,
    [GUMBO_TAG_LINK] = true,
    [GUMBO_TAG_META] = true,
    [GUMBO_TAG_PARAM] = true,
    [GUMBO_TAG_SOURCE] = true,
    [GUMBO_TAG_TRACK] = true,
    [GUMBO_TAG_WBR] = true,
    [GUMBO_TAG_P] = true,
    [GUMBO_TAG_LI] = true,
    [GUMBO_TAG_DT] = true,
    [GUMBO_TAG_DD] = true,
    [GUMBO_TAG_TR] = true,
    [GUMBO_TAG_TD] = true,
    [GUMBO_TAG_TH] = true,
    [GUMBO_TAG_THEAD] = true,
    [GUMBO_TAG_TBODY] = true,
    [GUMBO_TAG_TFOOT] = true,
    [GUMBO_TAG_COLGROUP] = true,
    [GUMBO_TAG_CAPTION] = true,
    [GUMBO_TAG_OPTION] = true,
    [GUMBO_TAG_OPTGROUP] = true,
    [GUMBO_TAG_RB] = true,
    [GUMBO_TAG_RT] = true,
    [GUMBO_TAG_RP] = true,
    [GUMBO_TAG_RTC] = true,
    [GUMBO_TAG_HTML] = true,
    [GUMBO_TAG_HEAD] = true,
    [GUMBO_TAG_BODY] = true,
    [GUMBO_TAG_A] = true,
    [GUMBO_TAG_NOBR] = true,
    /* Formatting is often left open, and closed with its paragraph. */
    [GUMBO_TAG_B] = true,
    [GUMBO_TAG_BIG] = true,
    [GUMBO_TAG_CODE] = true,
    [GUMBO_TAG_EM] = true,
    [GUMBO_TAG_FONT] = true,
    [GUMBO_TAG_I] = true,
    [GUMBO_TAG_S] = true,
    [GUMBO_TAG_SMALL] = true,
    [GUMBO_TAG_STRIKE] = true,
    [GUMBO_TAG_STRONG] = true,
    [GUMBO_TAG_TT] = true,
    [GUMBO_TAG_U] = true,
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

bool depth_tag(struct depth *depth, const struct markup *markup)
{
    if (markup->kind == MARKUP_OTHER)
        return true;
    unsigned tag = tag_of(markup);
    if (passed_over[tag])
        return true;
    if (markup->kind == MARKUP_CLOSE) {
        close_tag(depth, tag);
        return true;
    }
    if (tag == GUMBO_TAG_H1 && depth->count &&
        depth->open[depth->count - 1] == tag)
        return true;
    if (depth->count == DEPTH_MOST)
        return false;
    depth->open[depth->count++] = (uint16_t)tag;
    depth->of_tag[tag]++;
    return true;
}
