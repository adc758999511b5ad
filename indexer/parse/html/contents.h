/* A page's table of contents: the links of the lists that its generator left
 * for that, or all its links where it is hardly more than a list of them. */
#ifndef INDEXER_PARSE_HTML_CONTENTS_H
#define INDEXER_PARSE_HTML_CONTENTS_H

#include "indexer/parse/html/page.h"

/* A link to another page, of the same manual for all one can see in it. */
bool contents_leads_on(const char *url);

/* "Table of Contents", as what prints one calls it; above links "Contents" is one, too,
 * else it may be what a dialog calls its fields. */
bool contents_is_title(struct slice title, bool links);

/* What HTML Help's contents and index consist of: <object type="text/sitemap">. */
bool contents_is_topic(const xmlNode *element);

/* A path as Windows has it, as a link. */
void contents_put_path(struct buf *link, const char *path);

/* From the facts, all of them counted, into tree->page. */
void contents_read(const struct dom *dom, const struct page_facts *facts,
                   struct tree *tree);

#endif
