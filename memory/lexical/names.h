/* Questions for a name: whether a title, or a name that the manual's index
 * gives a section, is the question itself. */
#ifndef MEMORY_LEXICAL_NAMES_H
#define MEMORY_LEXICAL_NAMES_H

#include "tree/tree.h"

enum name_match {
    NAME_OTHER,
    NAME_PART, /* its last part is: DictReader of csv.DictReader, or it is the
                  question's last part; or an entry of the manual's index is;
                  or it is of that form: CMAKE_CXX_FLAGS of CMAKE_<LANG>_FLAGS */
    NAME_WHOLE /* it is, but for its number, signature or what a dash explains;
                  or an anchor of the node is, or the class that it is about */
};

/* A question as names are compared: white space folded, without "()" at its end. */
struct name {
    struct buf text;  /* as it is written */
    struct buf lower; /* in lower case */
};

struct name name_of(const char *question);
void name_free(struct name *name);

/* How the node's title, anchors and aliases compare with the question; *ret_same:
 * also in upper and lower case.  A reference entry's name is what stands before its
 * arguments. */
enum name_match name_of_node(const struct name *name,
                             const struct node *outlined, bool *ret_same);

/* Is the name, in lower case, of the form that the title is: "cmake_cxx_flags" of
 * "CMAKE_<LANG>_FLAGS"? */
bool name_is_of_form(struct slice lower, struct slice title);

/* Is the entry called as the class is that the section above it is about: "HashMap(int)"
 * below "Class HashMap<K,V>" or "HashMap Class Reference"? */
bool name_is_of_class(const struct node *entry, const struct node *above);

#endif
