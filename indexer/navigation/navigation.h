/* The page hierarchy: where each page of a manual stands among the others, from what
 * its generator left.
 *
 * A page's parent is, the first that there is:
 *   - the page that its "up" link names (Texinfo, DocBook, LaTeX2HTML);
 *   - the page that is called as it says that what is above is called ("Use|Views":
 *     MadCap Flare); where none is, a heading becomes a node there;
 *   - the page under which a generator's list of contents has it (Sphinx,
 *     mdBook, Doxygen, rustdoc, javadoc), or the frame around it;
 *   - the last page of the trail that leads to it ("Home > Use > This");
 *   - the page that has it in a list that sorts pages under headings of its own,
 *     which become nodes between the two;
 *   - the page nearest to the top that is hardly more than a list of links and
 *     has one to it; of several the one that calls itself contents, then the
 *     nearest, then the one with the fewest links;
 *   - the index page of its folder, or of the nearest folder above;
 * and else the manual's root; where no generator's word is known, a page whose
 * title is numbered "4.2" goes below its neighbour "4".  Pages under one parent
 * stand in the order of a generator's list, then in that of the "next" links,
 * then in that of a list by hand, then by path.
 *
 * Redirects, pages to search, pages that have all others once more and what else
 * a generator makes besides its text are left out.  A page of contents that only repeats where the others are
 * (a menu in a frame) is left out as well, and its pages move up in its place.
 * Of pages with equal content an index page, else the first by path, stands for
 * all. */
#ifndef INDEXER_NAVIGATION_NAVIGATION_H
#define INDEXER_NAVIGATION_NAVIGATION_H

#include "indexer/assemble.h"

struct place {
    uint32_t parent;         /* piece; TREE_NONE: the root */
    uint32_t child, sibling; /* pieces, in order; TREE_NONE */
    uint32_t group;          /* among the links of the parent's page: the
                                heading that it stands under; TREE_NONE */
    uint32_t same;           /* piece of the same content that stands for it,
                                or itself */
    int excluded;            /* enum excluded */
    struct slice title;      /* of a heading that is no page, else empty */
};

/* ret_places: [ret_total], to be freed: those of the pieces, then those of headings
 * that pages stand below; their titles live as long as the pieces.  Returns the first
 * place below the root; TREE_NONE: there is none. */
uint32_t place_pages(const struct piece *pieces, uint32_t count,
                     struct place **ret_places, uint32_t *ret_total);

#endif
