/* Calls after which a descriptor is another one, or none: what it stood for is measured before,
 * and found out anew when it is used again. A copy is found out likewise: a child of vfork shares
 * this memory, but not the descriptors. */
#include "export.h"
#include "real.h"
#include "trace.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

IEZ_EXPORT int close(int fd) {
    iez_note_close(fd, 0);
    return IEZ_REAL(close)(fd);
}

IEZ_EXPORT int close_range(unsigned first, unsigned last, int flags) {
    if (!((unsigned)flags & CLOSE_RANGE_CLOEXEC))
        iez_note_close_range(first, last);
    return IEZ_REAL(close_range)(first, last, flags);
}

IEZ_EXPORT void closefrom(int first) {
    iez_note_close_range(first > 0 ? (unsigned)first : 0, ~0U);
    IEZ_REAL(closefrom)(first);
}

IEZ_EXPORT int dup(int fd) {
    int copy = IEZ_REAL(dup)(fd);
    iez_forget(copy);
    return copy;
}

IEZ_EXPORT int dup2(int fd, int target) {
    if (fd != target)
        iez_note_close(target, 0);
    return IEZ_REAL(dup2)(fd, target);
}

IEZ_EXPORT int dup3(int fd, int target, int flags) {
    if (fd != target)
        iez_note_close(target, 0);
    return IEZ_REAL(dup3)(fd, target, flags);
}

static inline bool copies(int command) {
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

/* The third argument is handed on as libc does: as a pointer, whatever it is. */
IEZ_EXPORT int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int result = IEZ_REAL(fcntl)(fd, command, argument);
    if (copies(command))
        iez_forget(result);
    return result;
}

IEZ_EXPORT int fcntl64(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    int result = IEZ_REAL(fcntl64)(fd, command, argument);
    if (copies(command))
        iez_forget(result);
    return result;
}

IEZ_EXPORT void _exit(int status) {
    iez_trace_end(false);
    IEZ_REAL(_exit)(status);
    __builtin_unreachable();
}

IEZ_EXPORT void _Exit(int status) {
    iez_trace_end(false);
    IEZ_REAL(_Exit)(status);
    __builtin_unreachable();
}
