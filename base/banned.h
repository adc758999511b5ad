/* Functions that do not compile here: each has a bounded counterpart. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf gets  \
    atoi atol

#endif
