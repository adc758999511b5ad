/* A manual's few files, which the script writes, moves and deletes: what the disk has is
 * real, what the kernel tells of it is scripted. */
#ifndef TESTS_SIMULATION_FILES_H
#define TESTS_SIMULATION_FILES_H

#include <stdbool.h>

/* An empty folder at `root`, whose parent is there and watched, too. */
void files_begin(const char *root);
/* One change, of those that a writer cannot be interrupted in. */
void files_change(void);
/* Another content for a file that no other change is made to, and a touch of it. */
void files_rewrite(void);
void files_touch(void);
/* Ends what was begun and not ended: a file half written, what was put away. */
void files_finish(void);

#endif
