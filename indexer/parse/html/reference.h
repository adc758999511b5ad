/* Reference entries: what a manual describes by name (functions, options,
 * parameters), told by the marks of the tools that manuals are made with. */
#ifndef INDEXER_PARSE_HTML_REFERENCE_H
#define INDEXER_PARSE_HTML_REFERENCE_H

#include "indexer/parse/html/dom/dom.h"

/* Is each term of this <dl> an entry?  Within an entry only a list that was
 * surely made for entries is, or one too long for an entry; others explain that
 * one. */
bool reference_is_list(const xmlNode *list, bool within);

/* What stands in a list of terms. */
struct reference_counts {
    size_t terms, named, anchored, links, numbers, questions;
    size_t groups;     /* of terms that one meaning explains */
    size_t words;      /* of meanings */
    size_t term_words; /* of terms */
};

void reference_count_term(struct reference_counts *counts, const xmlNode *term);

/* Is it the empty meaning of a term with an id whose next is the same name in another
 * form, as Perl's manuals have "abs VALUE" and "abs"? */
bool reference_goes_on(const xmlNode *meaning);

/* Has it neither words, an image nor an anchor?  man2html's <DT><DD> goes on with the term
 * above it. */
bool reference_is_nameless(const xmlNode *term);

/* Is each term of these an entry, where they stand in no list? */
bool reference_are_entries(const struct reference_counts *counts);

/* Is the list one that a tool makes for signatures alone? */
bool reference_is_signatures(const xmlNode *list);

/* Is it such a list, and has its first term an id? */
bool reference_is_anchored(const xmlNode *list);

/* Is this part of a <dl> an anchor and nothing else, above the term that it names? */
bool reference_is_anchor_of_next(const xmlNode *part);

/* Is each row of this <table> an entry?  Of two cells, the name and what it means:
 * many rows with an anchor that is called as the first cell reads, and much text. */
bool reference_is_table(const xmlNode *table);

/* The cells of such a row: its name and its meaning, between which that of an
 * enumerator's value may stand; false: it is another one. */
bool reference_row(const xmlNode *row, const xmlNode **ret_name,
                   const xmlNode **ret_meaning);

/* Is each item of this <ul> or <ol> an entry: as of a table, items with an anchor that
 * is called as a word near their beginning is? */
bool reference_is_items(const xmlNode *list);

/* The element of such an item that names it, and that with the anchor; NULL: none
 * does. */
const xmlNode *reference_item(const xmlNode *item, const xmlNode **ret_anchor);

/* Words of what is below the element, counted as far as that takes little time. */
size_t reference_words(const xmlNode *element);

/* Does an entry begin with this element, as a section does with its heading,
 * and go on to the next? */
bool reference_is_heading(const xmlNode *element);

/* The element that names the entry which this one holds whole, or NULL: it
 * holds none. */
const xmlNode *reference_name_in(const xmlNode *box);

/* A <section> around nothing but the heading of an entry. */
bool reference_is_bare(const xmlNode *section);

#endif
