/* Putting short texts together without stdio. */
#ifndef IEZ_TEXT_H
#define IEZ_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Appends at most `bytes` bytes of `text`, and a NUL; gives where the next one goes. */
static inline char *iez_append(char *at, const char *end, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes && text[i] && at + 1 < end; i++)
        *at++ = text[i];
    *at = '\0';
    return at;
}

static inline char *iez_append_number(char *at, const char *end, uint64_t number) {
    char digits[21];
    size_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return iez_append(at, end, digits + n, sizeof digits - n);
}

static inline const char *iez_last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
