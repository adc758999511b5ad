/* What must hold. */
#ifndef TESTS_SIMULATION_CHECK_H
#define TESTS_SIMULATION_CHECK_H

#include "tests/simulation/service.h"

/* The index has each file as it is now on the disk, and no other.  `must`: it fails
 * otherwise. */
bool check_visible(struct service *service, bool must);
/* It has that file as it is. */
bool check_file(struct service *service, const char *path);
/* The index is what one made now would be, and its records hold together. */
void check_afresh(struct service *service, const char *folder);

#endif
