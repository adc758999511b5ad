#include "indexer/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/mem.h"

enum {
    MAX_TRIES = 3, /* to read a file that changes meanwhile */
    HEAD = 4096,   /* bytes by which XML is known */
    STEP = 1 << 20 /* bytes that are decompressed at a time */
};

#define SYSTEM_FOLDER "/usr"

/* ---- By name ---- */

static const struct {
    const char *ending;
    enum parser_format format;
    bool known; /* by its head, or else not ours */
    bool part;  /* of LaTeX documents, none itself */
} kinds[] = {
    {".html", PARSER_HTML, false, false},
    {".htm", PARSER_HTML, false, false},
    {".hhc", PARSER_HTML, false, false}, /* contents of HTML Help */
    {".hhk", PARSER_KEYWORDS, false, false},
    {"contents.js", PARSER_HTML, true, false}, /* of LibreOffice's help */
    {".jhm", PARSER_XML, false, false},        /* names of JavaHelp's pages */
    {".ncx", PARSER_XML, false, false},        /* contents of an EPUB */
    {"hmcontent.js", PARSER_SCRIPT, true, false},   /* Help & Manual's */
    {"_toc.json", PARSER_SCRIPT, true, false},      /* HelpNDoc's */
    {"navtreedata.js", PARSER_SCRIPT, true, false}, /* Doxygen's */
    {".toc.js", PARSER_SCRIPT, true, false},        /* see is_toc_script */
    {".xhtml", PARSER_XML, false, false},
    {".xht", PARSER_XML, false, false},
    {".docbook", PARSER_XML, true, false},
    {".xml", PARSER_XML, true, false},
    {".code.tex", PARSER_LATEX, false, true}, /* of packages, by custom */
    {".tex", PARSER_LATEX, false, false},
    {".ltx", PARSER_LATEX, false, false},
    {".latex", PARSER_LATEX, false, false},
    {".dtx", PARSER_LATEX, false, false},
    {".bbl", PARSER_LATEX, false, true},
    {".bib", PARSER_LATEX, false, true},
    {".dsidx", PARSER_DOCSET, false, false},
    {".ist", PARSER_LATEX, false, true},
    {".cls", PARSER_LATEX, false, true},
    {".sty", PARSER_LATEX, false, true},
};

/* Code that LaTeX documents show from files (\lstinputlisting), and what else than .tex
 * those are called that they read (\input{names.mac}). */
static const char *const code_endings[] = {
    ".c",    ".h",    ".cc",  ".cpp", ".hpp",  ".cs",   ".java",  ".py",
    ".rb",   ".pl",   ".sh",  ".hs",  ".ml",   ".rs",   ".go",    ".js",
    ".ts",   ".lua",  ".sql", ".m",   ".r",    ".jl",   ".scala", ".kt",
    ".f90",  ".lisp", ".scm", ".erl", ".lean", ".agda", ".s",     ".v",
    ".mac",  ".def",  ".inc", ".clo", ".ldf",  ".cfg",  ".sv",    ".vhd",
    ".vhdl", ".tcl",  ".ys",  ".awk", ".adb",  ".ads",  ".pas",   ".yaml",
    ".yml",  ".toml", ".cxx", ".hxx", ".f",    ".f95",  ".f03",   ".php",
    ".asm",  ".cu"};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ".html" is an ending of names, "contents.js" a whole one. */
static bool ends_in(const char *path, size_t size, const char *ending)
{
    size_t n = strlen(ending);
    if (size < n || strncasecmp(path + size - n, ending, n) != 0)
        return false;
    bool whole = size == n || path[size - n - 1] == '/';
    return whole == (ending[0] != '.');
}

bool source_is_gzipped(const char *path)
{
    return ends_in(path, strlen(path), ".gz");
}

struct slice source_unpacked_path(const char *path)
{
    struct slice whole = slice_of(path);
    if (source_is_gzipped(path))
        whole.size -= sizeof ".gz" - 1;
    return whole;
}

/* Flare's "Data/Toc.js", "Data/Toc_Chunk0.js" and "Data/Tocs/Guide.js", RoboHelp's
 * "toc.new.js" and "toc1.new.js": many scripts are called so, which their beginning tells. */
static bool is_toc_script(const char *path, size_t size)
{
    static const char folder[] = "Data/Tocs/", start[] = "toc";
    const char *slash = memrchr(path, '/', size);
    const char *name = slash ? slash + 1 : path;
    size_t before = (size_t)(name - path), own = sizeof folder - 1;
    if (!ends_in(path, size, ".js"))
        return false;
    return !strncasecmp(name, start, sizeof start - 1) ||
           (before >= own && !memcmp(name - own, folder, own) &&
            (before == own || name[-(ptrdiff_t)own - 1] == '/'));
}

/* KINDS: none of them. */
static size_t kind_of(const char *path)
{
    size_t size = source_unpacked_path(path).size, i = 0;
    bool toc = is_toc_script(path, size);
    while (i < KINDS && !(toc ? !strcmp(kinds[i].ending, ".toc.js")
                              : ends_in(path, size, kinds[i].ending)))
        i++;
    return i;
}

bool source_is_code(const char *path)
{
    size_t size = source_unpacked_path(path).size;
    if (source_is_named(path))
        return false;
    for (size_t i = 0; i < sizeof code_endings / sizeof *code_endings; i++)
        if (ends_in(path, size, code_endings[i]))
            return true;
    return false;
}

bool source_is_named(const char *path)
{
    return kind_of(path) < KINDS;
}

enum parser_format source_format(const char *path)
{
    size_t kind = kind_of(path);
    if (kind == KINDS)
        return source_is_code(path) ? PARSER_LATEX : PARSER_HTML;
    return kinds[kind].format;
}

bool source_is_part(const char *path)
{
    size_t kind = kind_of(path);
    return kind < KINDS ? kinds[kind].part : source_is_code(path);
}

static bool begins(const char *head, const char *start)
{
    return !strncmp(head, start, strlen(start));
}

/* Contents of help in a script (indexer/parse/scripts/scripts.h). */
static bool is_known_script(const char *head)
{
    static const char flare[] = "define({";
    if (begins(head, flare)) {
        const char *at = head + sizeof flare - 1;
        at += strspn(at, " \t\r\n");
        return begins(at, "numchunks") ||
               ((*at == '\'' || *at == '"') && strstr(at, "i:") &&
                strstr(at, "t:"));
    }
    return begins(head, "hmLoadTOC({") || strstr(head, "var NAVTREE =") ||
           (begins(head, "(function") && strstr(head, "var toc =")) ||
           (*head == '[' && strstr(head, "\"parent\"") &&
            strstr(head, "\"a_attr\""));
}

/* LibreOffice's contents are known by where they are put; DocBook names itself, the
 * contents of JavaHelp's, Eclipse's, Sandcastle's and Flare's help are known by their
 * elements. */
static bool is_known(const char *head, enum parser_format format)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (begins(head, mark))
        head += sizeof mark - 1;
    if (format != PARSER_XML)
        head += strspn(head, " \t\r\n");
    if (format == PARSER_HTML)
        return begins(head,
                      "document.getElementById(\"Contents\").innerHTML='");
    if (format == PARSER_SCRIPT)
        return is_known_script(head);
    return strcasestr(head, "docbook") || strstr(head, "<HelpTOC>") ||
           strstr(head, "<HelpTOC ") || strstr(head, "<CatapultToc") ||
           (strstr(head, "<toc") &&
            (strstr(head, "<tocitem") || strstr(head, "<topic")));
}

/* Closes it.  What cannot be read is told by whoever reads it. */
static bool names_itself(gzFile file, enum parser_format format)
{
    char head[HEAD + 1];
    int size = gzread(file, head, HEAD), number = Z_OK;
    if (size < 0)
        gzerror(file, &number);
    gzclose(file);
    head[size > 0 ? size : 0] = '\0';
    return number == Z_MEM_ERROR || number == Z_ERRNO || is_known(head, format);
}

/* XML is written for a hundred purposes. */
bool source_is_wanted(const char *path)
{
    size_t kind = kind_of(path);
    if (kind == KINDS || !kinds[kind].known)
        return kind < KINDS;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return source_may_be_there(errno);
    gzFile file = gzdopen(fd, "rb"); /* packed or not */
    if (!file) {
        close(fd);
        return true; /* zlib had no memory: whoever reads it will tell */
    }
    return names_itself(file, kinds[kind].format);
}

bool source_is_shortage(int number)
{
    return number == EMFILE || number == ENFILE || number == ENOMEM ||
           number == EAGAIN;
}

bool source_may_be_there(int number)
{
    return source_is_shortage(number) || number == EIO;
}

/* ---- Where it may lie ---- */

bool source_is_installed(const char *real, const struct stat *st)
{
    mode_t needed = S_IROTH | (S_ISDIR(st->st_mode) ? S_IXOTH : 0);
    return file_is_below(real, SYSTEM_FOLDER) && !st->st_uid &&
           (st->st_mode & needed) == needed;
}

/* What the system has installed may link to what it has installed elsewhere. */
static bool are_installed(const char *folder, const char *real)
{
    struct stat a, b;
    return !stat(folder, &a) && !stat(real, &b) &&
           source_is_installed(folder, &a) && source_is_installed(real, &b);
}

bool source_is_within(const struct source_root *root, const char *real)
{
    char folder[PATH_MAX];
    return realpath(root->path, folder) &&
           (file_is_below(real, folder) ||
            (!file_is_below(folder, real) &&
             (root->all_links || are_installed(folder, real))));
}

/* What was opened, not what stands at the path by now, is looked at. */
static int open_within(const struct source_root *root, const char *path,
                       struct err *err)
{
    char name[64], real[PATH_MAX];
    int fd = file_open_regular(path, err);
    if (fd < 0 || !root)
        return fd;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(name, real, sizeof real - 1);
    if (size < 0) {
        err_errno(err, ERR_IO, "cannot tell where %s lies", path);
        close(fd);
        return ERR_IO;
    }
    real[size] = '\0';
    if (source_is_within(root, real))
        return fd;
    close(fd);
    return err_set(err, ERR_STALE, "%s: " SOURCE_NOT_FOLLOWED, path);
}

/* ---- Bytes ---- */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_ino == b->st_ino &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* *ret_same: it did not change meanwhile, and stands at the path still. */
static int read_once(const struct source_root *root, const char *path,
                     struct buf *ret_bytes, struct stat *ret_stat,
                     bool *ret_same, struct err *err)
{
    struct stat before, after, now;
    int fd = open_within(root, path, err);
    if (fd < 0)
        return fd;
    bool known = !fstat(fd, &before);
    int code = file_read_open(fd, path, PARSER_MAX_BYTES, ret_bytes, err);
    known = known && !fstat(fd, &after);
    close(fd);
    if (code)
        return code;
    *ret_same = known && is_same(&before, &after) && !stat(path, &now) &&
                is_same(&after, &now) &&
                ret_bytes->size == (size_t)after.st_size;
    *ret_stat = before;
    return 0;
}

int source_read_stat(const struct source_root *root, const char *path,
                     struct buf *ret_bytes, struct stat *ret_stat,
                     struct err *err)
{
    for (int i = 0; i < MAX_TRIES; i++) {
        bool same = false;
        int rc = read_once(root, path, ret_bytes, ret_stat, &same, err);
        if (rc || same)
            return rc;
        buf_free(ret_bytes);
    }
    return err_set(err, ERR_IO, "%s changes while it is read", path);
}

int source_read(const struct source_root *root, const char *path,
                struct buf *ret_bytes, struct err *err)
{
    struct stat st;
    return source_read_stat(root, path, ret_bytes, &st, err);
}

static int unpack(z_stream *stream, struct buf *out, struct err *err)
{
    int rc = Z_OK;
    while (rc == Z_OK || rc == Z_BUF_ERROR) {
        buf_reserve(out, STEP);
        stream->next_out = (unsigned char *)out->data + out->size;
        stream->avail_out = STEP;
        rc = inflate(stream, Z_NO_FLUSH);
        out->size += STEP - stream->avail_out;
        if (out->size > PARSER_MAX_BYTES)
            return err_set(err, ERR_LIMIT, "larger than %d MiB decompressed",
                           PARSER_MAX_BYTES >> 20);
        /* One compressed file may follow another; what else follows is none. */
        if (rc == Z_STREAM_END && stream->avail_in > 1 &&
            stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b)
            rc = inflateReset(stream);
        else if (rc == Z_OK && !stream->avail_in && stream->avail_out)
            rc = Z_BUF_ERROR;
        if (rc == Z_BUF_ERROR)
            return err_set(err, ERR_FORMAT, "its compressed data end early");
    }
    if (rc == Z_STREAM_END)
        return 0;
    return err_set(err, ERR_FORMAT, "its compressed data are damaged");
}

int source_unpack(const char *path, struct buf *bytes, struct err *err)
{
    if (!source_is_gzipped(path))
        return 0;
    z_stream stream = {.next_in = (unsigned char *)bytes->data,
                       .avail_in = (unsigned)bytes->size};
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return err_set(err, ERR_INTERNAL, "cannot decompress");
    struct buf out = {0};
    int rc = unpack(&stream, &out, err);
    inflateEnd(&stream);
    buf_free(rc ? &out : bytes);
    if (rc)
        return rc;
    buf_put_byte(&out, '\0');
    out.size--;
    *bytes = out;
    return 0;
}

static int read_plain_span(const struct source_root *root, const char *path,
                           uint64_t from, uint64_t to, struct buf *ret_bytes,
                           struct err *err)
{
    int fd = open_within(root, path, err);
    if (fd < 0)
        return fd;
    int code = file_read_open_span(fd, path, from, to, ret_bytes, err);
    close(fd);
    return code;
}

int source_read_span(const struct source_root *root, const char *path,
                     uint64_t from, uint64_t to, struct buf *ret_bytes,
                     struct err *err)
{
    if (!source_is_gzipped(path))
        return read_plain_span(root, path, from, to, ret_bytes, err);
    struct buf bytes = {0};
    int rc = source_read(root, path, &bytes, err);
    if (!rc)
        rc = source_unpack(path, &bytes, err);
    if (!rc && (from > to || to > bytes.size))
        rc = err_set(err, ERR_STALE, "%s no longer reaches byte %llu", path,
                     (unsigned long long)to);
    if (!rc)
        buf_put(ret_bytes, bytes.data + from, to - from);
    buf_free(&bytes);
    return rc;
}
