#include "memory/lexical/own_values.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

/* ---- Paths and hosts ---- */

/* "c:\users\bob" */
static bool is_on_drive(const char *text)
{
    return text[0] >= 'a' && text[0] <= 'z' && text[1] == ':' &&
           text[2] == '\\' && text[3];
}

static bool is_path(const char *text)
{
    static const char *const starts[] = {"/", "~/", "./", "../"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t size = strlen(starts[i]);
        if (strncmp(text, starts[i], size) != 0)
            continue;
        const char *end = strchr(text + size, '/'); /* of the first name */
        if (end && end[1])
            return true;
    }
    return is_on_drive(text);
}

/* "repo" of "/mnt/backup/repo", and of "/mnt/backup/repo/". */
static const char *last_name(const char *value)
{
    char sign = is_on_drive(value) ? '\\' : '/';
    size_t size = strlen(value);
    while (size && value[size - 1] == sign)
        size--;
    while (size && value[size - 1] != sign)
        size--;
    return value + size;
}

/* The bytes of a host's name at the beginning. */
static size_t host_size(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");
}

static bool ends_in(const char *text, size_t size, const char *end)
{
    size_t tail = strlen(end);
    return size > tail && !memcmp(text + size - tail, end, tail);
}

static bool is_example_host(const char *text)
{
    static const char *const domains[] = {"example.com", "example.net",
                                          "example.org"};
    size_t size = host_size(text);
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t tail = strlen(domains[i]);
        if (size >= tail && !memcmp(text + size - tail, domains[i], tail) &&
            (size == tail || text[size - tail - 1] == '.'))
            return true;
    }
    return false;
}

/* "System.Net" and "asp.net" are none. */
static bool is_host(const char *text)
{
    static const char *const domains[] = {".com", ".example", ".internal",
                                          ".lan", ".local",   ".localdomain",
                                          ".org"};
    size_t size = host_size(text);
    const char *dot = memchr(text, '.', size);
    if (text[size] && !strchr("/:#[", text[size]))
        return false;
    if (ends_in(text, size, ".net"))
        return memchr(dot + 1, '.', (size_t)(text + size - dot - 1)) ||
               is_example_host(text);
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        if (ends_in(text, size, domains[i]))
            return true;
    return false;
}

static bool is_mail(const char *text)
{
    static const char box[] = "abcdefghijklmnopqrstuvwxyz0123456789._+-";
    size_t size = strspn(text, box);
    return size && text[size] == '@' && text[size + 1] &&
           !strchr(".-", text[size + 1]) && host_size(text + size + 1) > 0;
}

/* ---- Numbers and processes ---- */

static bool is_process(const char *text)
{
    const char *bracket = strchr(text, '[');
    if (!bracket || bracket == text)
        return false;
    size_t number = strspn(bracket + 1, digits);
    return number && (!bracket[1 + number] ||
                      (bracket[1 + number] == ']' && !bracket[2 + number]));
}

/* "192.168.1.17", "2024-03-04", "10:11:12", "198.51.100.7#51324", "2024-03-04t10:11:12z".
 */
static bool is_numbers(const char *text)
{
    size_t all = strlen(text), size = strspn(text, "0123456789.:/#,+-");
    bool timed = size && text[size] == 't' && text[size + 1] &&
                 strchr(digits, text[size + 1]);
    return strpbrk(text, digits) && (size == all || timed);
}

/* "172.16.0.1" to "172.31.255.255". */
static bool is_among_172(const char *text)
{
    long second = !strncmp(text, "172.", 4) ? strtol(text + 4, NULL, 10) : 0;
    return second >= 16 && second <= 31;
}

/* "10.0.0.5", "192.168.1.17:80". */
static bool is_private_address(const char *text)
{
    static const char *const networks[] = {"10.", "192.168.", "192.0.2.",
                                           "198.51.100.", "203.0.113."};
    size_t size = strspn(text, "0123456789."), dots = 0;
    for (size_t i = 0; i < size; i++)
        dots += text[i] == '.';
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (dots == 3 && !strncmp(text, networks[i], strlen(networks[i])))
            return true;
    return dots == 3 && is_among_172(text);
}

bool is_example_value(const char *text)
{
    return is_mail(text) || is_private_address(text) || is_example_host(text);
}

bool is_own_value(const char *text)
{
    return is_path(text) || strstr(text, "://") || is_mail(text) ||
           is_host(text) || is_process(text) || is_numbers(text);
}

bool own_value_tells(const char *value, const char *word)
{
    const char *last = last_name(value), *scheme = strstr(value, "://");
    bool named = is_path(value) || (scheme && last > scheme + 3);
    if (!strstr(value, word))
        return true;
    if (!word[strspn(word, digits)])
        return false;
    return is_process(value) || (named && strstr(last, word));
}

bool is_quantity(const char *word)
{
    static const char *const units[] = {"",  "b",  "k",  "kb", "m",  "mb",
                                        "g", "gb", "ms", "us", "ns", "s"};
    size_t number = strspn(word, digits);
    const char *unit = word + number;
    if (!number)
        return false;
    if (*unit == 'x')
        return unit[1] && !unit[1 + strspn(unit + 1, "0123456789abcdefx")];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i]))
            return true;
    return false;
}
