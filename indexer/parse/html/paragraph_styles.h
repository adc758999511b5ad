/* Paragraph styles of word processors and of publishing programs, which stand in a page
 * as classes: <p class="Heading2"> (FrameMaker), <div class="Heading_2"> (WebWorks),
 * <p class=MsoToc1> (Word), <div class="section2-header"> (pgBackRest's). */
#ifndef INDEXER_PARSE_HTML_PARAGRAPH_STYLES_H
#define INDEXER_PARSE_HTML_PARAGRAPH_STYLES_H

#include "indexer/parse/html/rules.h"

/* What the style says of an element whose rule is `rule` so far. */
void paragraph_styles_apply(const xmlNode *element, struct rule *rule);

/* Level of a heading by its style; -1: it has none. */
int paragraph_styles_level(const xmlNode *heading);

#endif
