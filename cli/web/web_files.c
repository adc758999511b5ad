#include "cli/web/web_files.h"

#include <string.h>

/* Puts the bytes of a file into the program, between NAME and NAME_end. */
#define EMBED(name, file)                                                      \
    extern const char name[], name##_end[];                                    \
    __asm__(".pushsection .rodata\n"                                           \
            ".globl " #name "\n" #name ":\n.incbin \"cli/web/" file "\"\n"     \
            ".globl " #name "_end\n" #name "_end:\n"                           \
            ".popsection\n")

EMBED(page_html, "page.html");
EMBED(page_css, "page.css");
EMBED(page_js, "page.js");

static const struct {
    const char *path, *type, *start, *end;
} files[] = {
    {"/", "text/html; charset=utf-8", page_html, page_html_end},
    {"/page.css", "text/css; charset=utf-8", page_css, page_css_end},
    {"/page.js", "text/javascript; charset=utf-8", page_js, page_js_end},
};

bool web_file_find(const char *path, struct web_file *ret_file)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(path, files[i].path))
            continue;
        *ret_file = (struct web_file){
            files[i].type,
            {files[i].start, (size_t)(files[i].end - files[i].start)}};
        return true;
    }
    return false;
}
