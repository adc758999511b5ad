/* Cards: what a manual says of one option or setting, each piece as it stands in the
 * file: what it does, its default, its values, where or when it can be changed.
 * Told from the structure of its entry: rows, items and sentences that begin as
 * such things do. */
#ifndef DAEMON_ANSWER_CARD_H
#define DAEMON_ANSWER_CARD_H

#include "memory/routing/passage.h"
#include "tree/tree.h"

enum card_field {
    CARD_ABOUT,
    CARD_DEFAULT,
    CARD_VALUES, /* type, range, what may be chosen from */
    CARD_CHANGE, /* where or when it can be set, by whom */
    CARD_FIELDS
};
extern const char *const card_field_names[CARD_FIELDS];

struct card_piece {
    enum card_field field;
    uint32_t block;    /* index in the node's content */
    struct slice text; /* within the block's text */
};

enum { CARD_PIECES = 24 };
struct card {
    struct card_piece pieces[CARD_PIECES]; /* [count], in order of the fields */
    size_t count;
};

/* Tells whether the title is that of one option and the question names it, and no
 * other besides. */
bool card_is_asked(const char *question, const struct node *outlined);

/* Tells whether two titles name one option: of which is asked cannot be told. */
bool card_same_name(struct slice title, struct slice other);

/* Reads the card from an entry's title and content.  False: they say nothing that
 * only an option has. */
bool card_read(struct slice title, const struct node *content,
               struct card *ret);

/* The card of the best section as passages to be quoted, the title first; their
 * scores are the field, -1: the title.  None where the question is not about one
 * option, or the best section is not that option's, or another section of
 * the first is called the same.  Free them with passages_free. */
int card_of(const struct snapshot *snapshot, const struct route_result *route,
            const char *question, struct passages *ret, struct err *err);

#endif
