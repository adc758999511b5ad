/* Contents that help authoring tools keep in scripts beside the pages, as data: MadCap
 * Flare's from version 9 on ("Data/Toc.js", and the chunks that name its pages), Help &
 * Manual's ("hmcontent.js"), HelpNDoc's ("_toc.json"), RoboHelp's ("toc.new.js", and one
 * such file for each book) and Doxygen's ("navtreedata.js"). */
#ifndef INDEXER_PARSE_SCRIPTS_SCRIPTS_H
#define INDEXER_PARSE_SCRIPTS_SCRIPTS_H

#include "tree/tree.h"

/* Reads the file as a page without text whose links are the contents (CONTENTS_WHOLE), or
 * what Flare's entries stand for (CONTENTS_MAP).  What is none of these has no links.
 * ERR_FORMAT: it is no text. */
int scripts_parse(struct slice bytes, struct tree **ret_tree, struct err *err);

#endif
