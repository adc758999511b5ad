/* The daemon's malloc, in place of the C library's for all that is linked to it. */
#ifndef DAEMON_LECTERND_MALLOC_H
#define DAEMON_LECTERND_MALLOC_H

/* From now on memory is taken from whoever would be asked without it: a library that
 * was preloaded, else the C library.  Once, before there are threads. */
void malloc_follow(void);

#endif
