/* The few files of manuals, which the script writes, moves and deletes: what the disk has is
 * real, what the kernel tells of it is scripted. */
#ifndef TESTS_SIMULATION_FILES_H
#define TESTS_SIMULATION_FILES_H

#include <stdbool.h>

enum { FILES_MANUALS = 2 };

/* Folders of one page each at `roots`, whose parents are there and watched, too. */
void files_begin(const char *const *roots, unsigned count);
/* One change of one of them, of those that a writer cannot be interrupted in. */
void files_change(void);
/* Another content for a file of the first, and a touch of another one. */
void files_rewrite(void);
void files_touch(void);
/* Ends what was begun and not ended: a file half written, what was put away. */
void files_finish(void);

#endif
