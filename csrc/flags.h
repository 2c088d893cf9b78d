/* Reading the arguments of open() as libc does. */
#ifndef IEZ_FLAGS_H
#define IEZ_FLAGS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/types.h>

static inline bool iez_flags_have_mode(int flags) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* Declares `name`, the mode after `last`; 0 where the caller passed none. */
#define IEZ_MODE_ARGUMENT(name, last)                                                              \
    va_list name##_arguments;                                                                      \
    va_start(name##_arguments, last);                                                              \
    mode_t name = iez_flags_have_mode(last) ? va_arg(name##_arguments, mode_t) : 0;                \
    va_end(name##_arguments)

#endif
