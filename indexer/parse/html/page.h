/* A page's metadata: its title, its neighbours, and whether it is a
 * page to be read at all. */
#ifndef INDEXER_PARSE_HTML_PAGE_H
#define INDEXER_PARSE_HTML_PAGE_H

#include "indexer/parse/html/dom/dom.h"
#include "tree/tree.h"

struct page_facts {
    struct slice title; /* <title>, white space folded; in the DOM's arena */
    struct span span;   /* where it stands; 0, 0: there is none */
    struct slice up, prev, next;
    struct slice above, home;  /* as in struct page */
    bool trail;                /* up ends the trail that leads here */
    bool refreshes;            /* to another page ... */
    bool refreshes_unscripted; /* ... who has no scripts */
    bool
        pops_up; /* it has links into the window that opened this one: fpdoc's */
    bool frames;      /* its program shows other pages in it: Flare's */
    bool manpage;     /* groff made it */
    bool asks;        /* there is something to fill in */
    bool asks_beside; /* in what the site has beside the text */
    bool lists; /* it is a source, or names all members: what tools list besides
                   the text */
    bool keywords; /* it is the index of an HTML Help file */
    bool terms;    /* it is an index by its tool's word: Oxygen's */
    bool titled;   /* a heading that is not read says what its <title> does */
    bool names;    /* it lists pages by the names of what these describe */

    /* Counted while the page is read. */
    uint64_t text;        /* bytes of text */
    uint64_t linked;      /* bytes of it in links */
    uint64_t letters;     /* headings and links of one character */
    uint64_t index_parts; /* elements that only an index has */
    uint64_t areas;       /* links on image maps */
    struct slice first_heading;
};

/* All but what is counted. */
void page_read(struct dom *dom, struct page_facts *ret);

/* The role, from all facts. */
int page_role(const struct page_facts *facts);

#endif
