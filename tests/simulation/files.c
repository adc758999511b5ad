#include "tests/simulation/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

static const char *const names[] = {"index.html", "a.html",   "b.html",
                                    "c/d.html",   "c/e.html", "h/d.html",
                                    "f/g.xml",    "main.tex", "part.tex",
                                    "z.html.gz",  "note.txt", "c/i/j.html"};
enum { NAMES = sizeof names / sizeof names[0], ROOM = 600 };

/* A manual's folder. */
struct place {
    char root[160], away[176];
    char half[64];  /* a file that is being written; "": none */
    char aside[64]; /* one that stands beside its name; "": none */
};

static struct place places[FILES_MANUALS], *here; /* that is changed */
static unsigned place_count;

/* ---- What the kernel tells ---- */

static void full_path(char *ret, const char *name)
{
    snprintf(ret, ROOM, "%s%s%s", here->root, *name ? "/" : "", name);
}

static ino_t inode(const char *path)
{
    struct stat st;
    return lstat(path, &st) ? 0 : st.st_ino;
}

static bool is_there(const char *name)
{
    char path[ROOM];
    full_path(path, name);
    return inode(path) != 0;
}

static void tell(const char *path, uint32_t mask)
{
    char folder[ROOM];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    event_in(inode(folder), mask, slash + 1);
}

static void stamp(const char *path)
{
    int64_t now = day_now();
    now -= now % world.granularity;
    struct timespec times[2] = {{now / SECOND, now % SECOND},
                                {now / SECOND, now % SECOND}};
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

/* ---- What is written ---- */

static const char *word(void)
{
    static const char *const words[] = {"vacuum", "index",  "query", "table",
                                        "server", "config", "lock",  "page",
                                        "écran",  "x_y",    "-v",    "42"};
    return words[chance_below(sizeof words / sizeof words[0])];
}

static void put_words(struct buf *out, unsigned most)
{
    for (uint64_t i = chance_below(most) + 1; i; i--)
        buf_printf(out, "%s ", word());
}

static void put_html(struct buf *out)
{
    buf_printf(out, "<html><head><title>%s</title></head><body><h1>%s %s</h1>",
               word(), word(), word());
    for (uint64_t i = chance_below(3); i; i--) {
        buf_printf(out, "<h2 id=s%llu>%s</h2><p>", (unsigned long long)i,
                   word());
        put_words(out, 12);
        buf_put_text(out, "</p>");
    }
    if (chance_in(2))
        buf_printf(out, "<ul><li><a href=\"%s\">%s</a></ul>",
                   names[chance_below(NAMES)], word());
    buf_put_text(out, "</body></html>\n");
}

static void put_docbook(struct buf *out)
{
    buf_printf(out,
               "<?xml version=\"1.0\"?>\n<article "
               "xmlns=\"http://docbook.org/ns/docbook\"><title>%s</title>"
               "<section><title>%s</title><para>",
               word(), word());
    put_words(out, 9);
    buf_put_text(out, chance_in(8) ? "</para>" : "</para></section></article>");
}

static void put_latex(struct buf *out, bool whole)
{
    if (whole)
        buf_put_text(out, "\\documentclass{article}\\begin{document}\n");
    buf_printf(out, "\\section{%s}\n", word());
    put_words(out, 9);
    if (whole)
        buf_printf(out, "\n\\input{%s}\n\\end{document}\n",
                   chance_in(3) ? "gone" : "part");
}

static void put_content(struct buf *out, const char *name)
{
    if (chance_in(12))
        return; /* an empty file */
    if (strstr(name, ".tex"))
        put_latex(out, strstr(name, "main") != NULL);
    else if (strstr(name, ".xml"))
        put_docbook(out);
    else
        put_html(out);
}

/* ---- Changes ---- */

static void make_folders(const char *name)
{
    char path[ROOM], folder[64];
    for (const char *slash = strchr(name, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
        full_path(path, folder);
        if (!mkdir(path, 0755))
            tell(path, IN_CREATE | IN_ISDIR);
    }
}

static void put_file(const char *path, struct slice bytes)
{
    bool new = !inode(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, bytes.data, bytes.size) != (ssize_t)bytes.size)
        simulation_fails("%s cannot be written: %s", path, strerror(errno));
    close(fd);
    stamp(path);
    tell(path, new ? IN_CREATE : IN_MODIFY);
    if (bytes.size)
        tell(path, IN_MODIFY);
}

/* In place, in two steps; what is half written is ended by the next change. */
static void write_file(const char *name)
{
    char path[ROOM];
    struct buf bytes = {0};
    put_content(&bytes, name);
    make_folders(name);
    full_path(path, name);
    struct slice text = buf_slice(&bytes);
    if (chance_in(3)) {
        text.size = (size_t)chance_below(text.size + 1);
        snprintf(here->half, sizeof here->half, "%s", name);
    }
    put_file(path, text);
    if (!here->half[0])
        tell(path, IN_CLOSE_WRITE);
    buf_free(&bytes);
}

/* As editors do: another file takes its place. */
static void replace(const char *name)
{
    char path[ROOM], made[ROOM];
    struct buf bytes = {0};
    put_content(&bytes, name);
    make_folders(name);
    full_path(path, name);
    snprintf(made, sizeof made, "%.500s~", path);
    put_file(made, buf_slice(&bytes));
    tell(made, IN_CLOSE_WRITE);
    rename(made, path);
    tell(made, IN_MOVED_FROM);
    tell(path, IN_MOVED_TO);
    buf_free(&bytes);
}

static void delete (const char *name)
{
    char path[ROOM];
    full_path(path, name);
    if (!unlink(path))
        tell(path, IN_DELETE);
}

static void touch(const char *name)
{
    char path[ROOM];
    full_path(path, name);
    if (!inode(path))
        return;
    stamp(path);
    tell(path, IN_ATTRIB);
}

static void move(const char *name, const char *other)
{
    char from[ROOM], to[ROOM];
    make_folders(other);
    full_path(from, name);
    full_path(to, other);
    if (!inode(from) || rename(from, to))
        return;
    tell(from, IN_MOVED_FROM);
    tell(to, IN_MOVED_TO);
}

static void move_folder(const char *name, const char *other)
{
    char from[ROOM], to[ROOM];
    full_path(from, name);
    full_path(to, other);
    if (!inode(from) || inode(to) || rename(from, to))
        return;
    tell(from, IN_MOVED_FROM | IN_ISDIR);
    tell(to, IN_MOVED_TO | IN_ISDIR);
    event_in(inode(to), IN_MOVE_SELF, NULL);
}

static void delete_folder(const char *name)
{
    char path[ROOM];
    size_t size = strlen(name);
    for (unsigned i = 0; i < NAMES; i++)
        if (!strncmp(names[i], name, size) && names[i][size] == '/')
            delete (names[i]);
    full_path(path, name);
    ino_t folder = inode(path);
    if (folder && !rmdir(path)) {
        event_gone(folder);
        tell(path, IN_DELETE | IN_ISDIR);
    }
}

/* The whole manual is put away, and comes back. */
static void move_root(bool back)
{
    const char *from = back ? here->away : here->root,
               *to = back ? here->root : here->away;
    if (rename(from, to))
        return;
    tell(from, IN_MOVED_FROM | IN_ISDIR);
    tell(to, IN_MOVED_TO | IN_ISDIR);
    event_in(inode(to), IN_MOVE_SELF, NULL);
}

/* Another file stands in its place for a while, and then it does again, as it was. */
static void put_aside(const char *name)
{
    char path[ROOM], kept[ROOM];
    struct buf bytes = {0};
    full_path(path, name);
    snprintf(kept, sizeof kept, "%.500s~", path);
    if (!inode(path) || rename(path, kept))
        return;
    tell(path, IN_MOVED_FROM);
    tell(kept, IN_MOVED_TO);
    put_content(&bytes, name);
    put_file(path, buf_slice(&bytes));
    tell(path, IN_CLOSE_WRITE);
    buf_free(&bytes);
    snprintf(here->aside, sizeof here->aside, "%s", name);
}

static void put_back(void)
{
    char path[ROOM], kept[ROOM];
    full_path(path, here->aside);
    snprintf(kept, sizeof kept, "%.500s~", path);
    here->aside[0] = '\0';
    if (rename(kept, path))
        return;
    tell(kept, IN_MOVED_FROM);
    tell(path, IN_MOVED_TO);
}

static const char *some_name(void)
{
    return names[chance_below(NAMES)];
}

static void finish(void)
{
    char path[ROOM];
    if (inode(here->away))
        move_root(true);
    if (here->aside[0])
        put_back();
    if (!here->half[0])
        return;
    struct buf bytes = {0};
    put_content(&bytes, here->half);
    full_path(path, here->half);
    here->half[0] = '\0';
    if (inode(path)) {
        put_file(path, buf_slice(&bytes));
        tell(path, IN_CLOSE_WRITE);
    }
    buf_free(&bytes);
}

void files_finish(void)
{
    for (here = places; here < places + place_count; here++)
        finish();
    here = places;
}

void files_begin(const char *const *roots, unsigned count)
{
    place_count = count;
    for (unsigned i = 0; i < count; i++) {
        here = &places[i];
        *here = (struct place){0};
        snprintf(here->root, sizeof here->root, "%s", roots[i]);
        snprintf(here->away, sizeof here->away, "%s.away", roots[i]);
        if (mkdir(here->root, 0755))
            simulation_fails("%s cannot be made: %s", here->root,
                             strerror(errno));
        replace("index.html");
    }
    here = places;
}

static void change(void)
{
    switch (chance_below(16)) {
    case 0:
    case 1:
    case 2:
    case 3: write_file(some_name()); break;
    case 4:
    case 5:
    case 6: replace(some_name()); break;
    case 7: delete (some_name()); break;
    case 8: touch(some_name()); break;
    case 9: move(some_name(), some_name()); break;
    case 10: move_folder("c", "h"); break;
    case 11: move_folder("h", "c"); break;
    case 12: delete_folder(chance_in(2) ? "c" : "c/i"); break;
    case 13:
    case 14: put_aside(some_name()); break;
    case 15:
        if (chance_in(4))
            move_root(false);
        break;
    }
}

void files_change(void)
{
    fibre_holds(1);
    here = &places[chance_below(place_count)];
    if (here->half[0] || here->aside[0] || inode(here->away))
        finish();
    else
        change();
    if (!is_there("index.html") && !inode(here->away))
        replace("index.html");
    here = places;
    fibre_holds(-1);
}

void files_rewrite(void)
{
    fibre_holds(1);
    files_finish();
    replace("a.html");
    fibre_holds(-1);
}

void files_touch(void)
{
    fibre_holds(1);
    touch("index.html");
    fibre_holds(-1);
}
