/* mkstemp and its family. libc chooses the name inside of itself, so for a watched directory the
 * name is chosen here, as libc does: six letters or digits, tried until one is free. */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "export.h"
#include "path.h"
#include "place.h"
#include "real.h"

#define TRIES 100 /* then libc may try; with 62^6 names a second try is rare already */
#define XS    6

static uint64_t random_number(void) {
    uint64_t number;
    if (syscall(SYS_getrandom, &number, sizeof number, 1 /* GRND_NONBLOCK */) == sizeof number)
        return number;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    number = (uint64_t)now.tv_nsec ^ ((uint64_t)syscall(SYS_gettid) << 32) ^ (uintptr_t)&now;
    return number * 0x9e3779b97f4a7c15ULL;
}

static void fill_in(char *xs, uint64_t number) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (int i = 0; i < XS; i++, number /= 62)
        xs[i] = letters[number % 62];
}

/* Where the six X are, or NULL: then libc says what is wrong with the name. */
static char *find_xs(char *name, int suffix) {
    long bytes = iez_path_length(name);
    if (suffix < 0 || suffix > bytes - XS)
        return NULL;
    char *xs = name + bytes - suffix - XS;
    return memcmp(xs, "XXXXXX", XS) == 0 ? xs : NULL;
}

/* Creates the file under its name as it stands. IEZ_PLAIN: it is not watched. */
static int create_one(const struct iez_create *create) {
    struct iez_order order;
    bool created = false;
    int fd = IEZ_PLAIN;
    enum iez_decision decision = iez_decide(AT_FDCWD, create->path, &order);
    if (decision == IEZ_PLACE)
        fd = iez_place(create, &order, &created);
    if (decision != IEZ_PASS && fd == IEZ_PLAIN)
        fd = create->open(create->path, create->flags, create->mode);
    if (decision == IEZ_MISS && fd >= 0)
        iez_note_unplaced(&order, IEZ_MISSED);
    if (decision != IEZ_PASS && fd >= 0)
        iez_note_created(fd, &order, create->flags, true, true);
    iez_done(&order);
    return fd;
}

/* Creates one of the names in place of the Xs. IEZ_PLAIN: libc is to do it, or to say what is
 * wrong, and the name is as it was. */
static int create_temporary(char *name, char *xs, int flags) {
    struct iez_create create = {.open = IEZ_REAL(open),
                                .path = name,
                                .flags = (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL,
                                .mode = 0600};
    int fd = IEZ_PLAIN;
    for (int try = 0; try < TRIES; try++) {
        fill_in(xs, random_number());
        fd = create_one(&create);
        if (fd != -1 || errno != EEXIST)
            break;
    }
    if (fd < 0)
        memcpy(xs, "XXXXXX", XS);
    return fd < 0 ? IEZ_PLAIN : fd;
}

static int temporary(char *name, int suffix, int flags) {
    int saved = errno;
    if (!iez_on() || !iez_may_place(O_CREAT | flags))
        return IEZ_PLAIN;
    char *xs = find_xs(name, suffix);
    int fd = xs ? create_temporary(name, xs, flags) : IEZ_PLAIN;
    errno = saved;
    return fd;
}

IEZ_EXPORT int mkstemp(char *name) {
    int fd = temporary(name, 0, 0);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkstemp)(name) : fd;
}

IEZ_EXPORT int mkstemp64(char *name) {
    int fd = temporary(name, 0, 0);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkstemp64)(name) : fd;
}

IEZ_EXPORT int mkostemp(char *name, int flags) {
    int fd = temporary(name, 0, flags);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkostemp)(name, flags) : fd;
}

IEZ_EXPORT int mkostemp64(char *name, int flags) {
    int fd = temporary(name, 0, flags);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkostemp64)(name, flags) : fd;
}

IEZ_EXPORT int mkstemps(char *name, int suffix) {
    int fd = temporary(name, suffix, 0);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkstemps)(name, suffix) : fd;
}

IEZ_EXPORT int mkstemps64(char *name, int suffix) {
    int fd = temporary(name, suffix, 0);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkstemps64)(name, suffix) : fd;
}

IEZ_EXPORT int mkostemps(char *name, int suffix, int flags) {
    int fd = temporary(name, suffix, flags);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkostemps)(name, suffix, flags) : fd;
}

IEZ_EXPORT int mkostemps64(char *name, int suffix, int flags) {
    int fd = temporary(name, suffix, flags);
    return fd == IEZ_PLAIN ? IEZ_LATE(mkostemps64)(name, suffix, flags) : fd;
}
