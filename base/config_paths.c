/* Where our files lie. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"

static const char *home(void)
{
    const char *folder = getenv("HOME");
    if (folder && folder[0] == '/')
        return folder;
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_dir ? user->pw_dir : "/";
}

void config_put_path(const char *path, const char *folder, struct buf *out)
{
    if (path[0] == '/') {
        buf_put_text(out, path);
    } else if (path[0] == '~' && path[1] == '/') {
        file_join(out, home(), path + 2);
    } else if (folder) {
        file_join(out, folder, path);
    } else {
        char *here = getcwd(NULL, 0);
        file_join(out, here ? here : "/", path);
        free(here);
    }
}

void config_user_folder(const char *variable, const char *fallback,
                        struct buf *out)
{
    const char *folder = getenv(variable);
    if (folder && folder[0] == '/') {
        file_join(out, folder, "lectern");
        return;
    }
    file_join(out, home(), fallback);
    buf_put_text(out, "/lectern");
}

void config_default_socket(struct buf *out)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (folder && folder[0] == '/')
        file_join(out, folder, "lectern/lectern.sock");
    else
        buf_printf(out, "/tmp/lectern-%ld/lectern.sock", (long)getuid());
}

void config_put_unpacked(const struct config *config, struct buf *out)
{
    file_join(out, config_text(config, CONFIG_STORE), "manuals");
}

void config_beside(const char *program, struct buf *out)
{
    char self[4096];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size > 0) {
        self[size] = '\0';
        *strrchr(self, '/') = '\0';
        file_join(out, self[0] ? self : "/", program);
    } else {
        buf_put_text(out, program);
    }
}
