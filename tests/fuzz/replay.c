/* Runs a fuzz target over files, without a fuzzer:  TARGET FILE... */
#include <string.h>

#include "base/file.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_BYTES = 64 << 20 };

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct buf bytes = {0};
        struct err err;
        if (file_read(argv[i], MAX_BYTES, &bytes, &err)) {
            fprintf(stderr, "%s: %s\n", argv[i], err.message);
            return 1;
        }
        /* A copy of its own size, so that a read beyond it is seen. */
        uint8_t *copy = malloc(bytes.size + !bytes.size);
        CHECK(copy);
        memcpy(copy, buf_slice(&bytes).data, bytes.size);
        LLVMFuzzerTestOneInput(copy, bytes.size);
        free(copy);
        buf_free(&bytes);
    }
    printf("%s: %d inputs\n", argv[0], argc - 1);
    return argc < 2;
}
