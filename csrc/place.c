#include "place.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "current.h"
#include "layout.h"
#include "mds.h"
#include "outcome.h"
#include "path.h"
#include "process.h"
#include "system.h"

/* One create is one event, also where another preloaded library's open() calls ours again. */
static __thread int depth __attribute__((tls_model("initial-exec")));

static int call(const struct iez_create *create, int flags) {
    if (create->open)
        return create->open(create->path, flags, create->mode);
    return create->openat(create->dirfd, create->path, flags, create->mode);
}

static void note(const struct iez_order *order, enum iez_outcome outcome) {
    iez_outcome_note(outcome, order->plan->header->generation);
}

void iez_note_miss(const struct iez_order *order) {
    note(order, IEZ_MISSED);
}

static enum iez_decision look_up(int dirfd, const char *path, size_t bytes,
                                 struct iez_scratch *scratch, struct iez_order *order) {
    size_t clean_bytes;
    const char *clean = iez_path_absolute(dirfd, path, bytes, scratch->path, &clean_bytes);
    if (!clean)
        return IEZ_PASS;
    const char *trouble =
        iez_plan_find(order->plan, clean, clean_bytes, scratch->canonical, &order->found);
    if (trouble) {
        iez_off(trouble);
        return IEZ_PASS;
    }
    if (!order->found.prefix || order->found.prefix->kind == IEZ_KIND_NONE)
        return IEZ_PASS;
    return order->found.layout ? IEZ_PLACE : IEZ_MISS;
}

enum iez_decision iez_decide(int dirfd, const char *path, struct iez_order *order) {
    int saved = errno;
    enum iez_decision decision = IEZ_PASS;
    order->plan = iez_current_plan();
    long bytes = order->plan->header->prefixes.count ? iez_path_length(path) : -1;
    struct iez_scratch *scratch = bytes > 0 ? iez_scratch_take() : NULL;
    if (scratch) {
        decision = look_up(dirfd, path, (size_t)bytes, scratch, order);
        iez_scratch_give(scratch);
    } else if (bytes > 0) {
        note(order, IEZ_BUSY);
    }
    errno = saved;
    return decision;
}

static enum iez_outcome refusal(int error) {
    switch (error) {
    case EINVAL:
        return IEZ_REFUSED_EINVAL;
    case ENOSPC:
        return IEZ_REFUSED_ENOSPC;
    case EROFS:
        return IEZ_REFUSED_EROFS;
    case ENOBUFS:
        return IEZ_REFUSED_ENOBUFS;
    case EREMOTEIO:
        return IEZ_REFUSED_EREMOTEIO;
    case EEXIST:
        return IEZ_REFUSED_EEXIST;
    case EACCES:
        return IEZ_REFUSED_EACCES;
    case ENOTTY:
        return IEZ_REFUSED_ENOTTY;
    default:
        return IEZ_REFUSED_OTHER;
    }
}

static bool has_layout(enum iez_outcome outcome) {
    return outcome == IEZ_PLACED || outcome == IEZ_SHARED || outcome == IEZ_EXISTED ||
           outcome == IEZ_DIFFERS;
}

/* Reads the layout of the file and compares it with what is asked in scratch->wire. `answer` is
 * what the request got; where there is no layout, it tells why. A request that was answered with 0
 * may have done nothing, and one that failed may have lost against another rank's. */
static enum iez_outcome read_back(const struct iez_order *order, int fd, int answer,
                                  struct iez_scratch *scratch, long asked_bytes) {
    long bytes = iez_mds_get(order->found.prefix, fd, scratch->back, sizeof scratch->back);
    if (bytes == -ERANGE)
        return IEZ_DIFFERS;
    if (bytes < 0)
        return answer ? refusal(answer) : IEZ_SILENT;
    bool agrees =
        iez_wire_agrees(scratch->wire, (uint64_t)asked_bytes, scratch->back, (uint64_t)bytes);
    return agrees ? IEZ_PLACED : IEZ_DIFFERS;
}

/* The ioctl writes its answer into the buffer it is given, so the request goes out from the second
 * one and the first keeps what was asked. */
static enum iez_outcome ask(const struct iez_order *order, int fd, struct iez_scratch *scratch,
                            long asked_bytes) {
    memcpy(scratch->back, scratch->wire, (size_t)asked_bytes);
    int answer =
        iez_mds_set(order->plan, order->found.prefix, fd, scratch->back, (uint64_t)asked_bytes);
    return read_back(order, fd, answer, scratch, asked_bytes);
}

/* A file that was there already may be one that another rank is just creating: it gets the layout
 * only if it has none. */
static enum iez_outcome ask_if_none(const struct iez_order *order, int fd,
                                    struct iez_scratch *scratch, long asked_bytes) {
    enum iez_outcome now = read_back(order, fd, ENODATA, scratch, asked_bytes);
    if (now == IEZ_DIFFERS)
        return IEZ_EXISTED;
    if (now != IEZ_PLACED)
        now = ask(order, fd, scratch, asked_bytes);
    return now == IEZ_PLACED ? IEZ_SHARED : now;
}

/* Gives the open file its layout. */
static enum iez_outcome set_layout(const struct iez_order *order, int fd, bool created) {
    struct iez_scratch *scratch = iez_scratch_take();
    if (!scratch)
        return IEZ_BUSY;
    const struct iez_found *found = &order->found;
    enum iez_outcome outcome = IEZ_REFUSED_EINVAL;
    long asked_bytes =
        iez_layout_encode(found->layout, found->layout_bytes, scratch->wire, sizeof scratch->wire);
    if (asked_bytes > 0)
        outcome = (created ? ask : ask_if_none)(order, fd, scratch, asked_bytes);
    iez_scratch_give(scratch);
    return outcome;
}

static int delay_flag(const struct iez_order *order) {
    return order->found.prefix->kind == IEZ_KIND_MOCK ? 0 : IEZ_DELAY_CREATE;
}

/* A file system that has its own handling of O_ASYNC keeps the delay flag's until told. */
static void clear_async(int fd) {
    long flags = syscall(SYS_fcntl, fd, F_GETFL);
    if (flags >= 0 && (flags & O_ASYNC))
        syscall(SYS_fcntl, fd, F_SETFL, flags & ~O_ASYNC);
}

static bool may_open(const struct iez_create *create) {
    static const int rights[] = {[O_RDONLY] = R_OK, [O_WRONLY] = W_OK, [O_RDWR] = R_OK | W_OK, 0};
    int dirfd = create->open ? AT_FDCWD : create->dirfd;
    return syscall(SYS_faccessat, dirfd, create->path, rights[create->flags & O_ACCMODE]) == 0;
}

/* The descriptor of a plain open in place of `fd`, under the same number. The file was created by
 * this call: it is neither created nor cut again. Where the file cannot be opened a second time
 * (a umask without owner write), `fd` stays as it is. */
static int exchange(const struct iez_create *create, int fd) {
    int flags = create->flags & ~(O_EXCL | O_TRUNC);
    int second = call(create, flags);
    if (second >= 0) {
        syscall(SYS_dup3, second, fd, flags & O_CLOEXEC);
        syscall(SYS_close, second);
    } else if ((errno == EMFILE || errno == ENFILE) && may_open(create)) {
        syscall(SYS_close, fd);
        fd = call(create, flags);
    }
    return fd;
}

/* The file has no layout and a write would fail with EBADF. A second, plain open for writing makes
 * the MDS give it the default layout, and the first descriptor works too. */
static int give_default_layout(const struct iez_create *create, int fd) {
    if ((create->flags & O_ACCMODE) == O_RDONLY)
        return fd; /* a plain create for reading leaves it without a layout as well */
    int dirfd = create->open ? AT_FDCWD : create->dirfd;
    long second = syscall(SYS_openat, dirfd, create->path, O_WRONLY | O_CLOEXEC | O_NOCTTY, 0);
    if (second >= 0)
        syscall(SYS_close, second);
    else if (errno == EMFILE || errno == ENFILE)
        fd = exchange(create, fd);
    return fd;
}

/* Closing any descriptor of a file drops the locks that this process holds on it. Asked for an open
 * file description, the kernel tells the process's own locks as well. */
static bool is_locked(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return syscall(SYS_fcntl, fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static int finish(const struct iez_create *create, const struct iez_order *order, int fd,
                  enum iez_outcome outcome, bool created) {
    const uint32_t kind = order->found.prefix->kind;
    if (kind == IEZ_KIND_LOOPBACK)
        clear_async(fd);
    if (outcome == IEZ_REFUSED_ENOTTY && delay_flag(order)) {
        if (created || !is_locked(fd))
            fd = exchange(create, fd); /* no Lustre: O_ASYNC would stay to be seen */
    } else if (!has_layout(outcome)) {
        if (created || kind != IEZ_KIND_MOCK || !is_locked(fd))
            fd = give_default_layout(create, fd);
    }
    note(order, outcome);
    return fd;
}

/* Something is there already, which a create without O_EXCL opens. Only an empty regular file can
 * be one that another rank is just creating; everything else gets the plain call. */
static int place_existing(const struct iez_create *create, const struct iez_order *order) {
    struct stat st;
    int dirfd = create->open ? AT_FDCWD : create->dirfd;
    if (iez_sys_fstatat(dirfd, create->path, &st, 0) != 0) {
        note(order, IEZ_SYMLINK);
        return IEZ_PLAIN;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > 0) {
        note(order, IEZ_EXISTED);
        return IEZ_PLAIN;
    }
    int fd = call(create, create->flags | delay_flag(order));
    if (fd < 0)
        return fd;
    return finish(create, order, fd, set_layout(order, fd, false), false);
}

static int place(const struct iez_create *create, const struct iez_order *order, bool *created) {
    const struct iez_found *found = &order->found;
    if (!(create->mode & S_IWUSR)) {
        note(order, IEZ_READONLY_MODE);
        return IEZ_PLAIN;
    }
    if (iez_plan_unknown_ost(order->plan, found->prefix, found->layout, found->layout_bytes) !=
        -1) {
        note(order, IEZ_UNKNOWN_OST);
        iez_off("it names an OST that is not there");
        return IEZ_PLAIN;
    }
    int fd = call(create, create->flags | O_EXCL | delay_flag(order));
    if (fd >= 0) {
        *created = true;
        return finish(create, order, fd, set_layout(order, fd, true), true);
    }
    if (errno == EEXIST && !(create->flags & O_EXCL))
        return place_existing(create, order);
    return errno == EINVAL ? IEZ_PLAIN : -1;
}

int iez_place(const struct iez_create *create, const struct iez_order *order, bool *created) {
    int saved = errno;
    *created = false;
    if (depth > 0)
        return IEZ_PLAIN;
    depth++;
    int fd = place(create, order, created);
    depth--;
    if (fd != -1)
        errno = saved;
    return fd;
}

int iez_open(const struct iez_create *create) {
    struct iez_order order;
    bool created;
    enum iez_decision decision =
        iez_decide(create->open ? AT_FDCWD : create->dirfd, create->path, &order);
    int fd = IEZ_PLAIN;
    if (decision == IEZ_PLACE)
        fd = iez_place(create, &order, &created);
    if (fd == IEZ_PLAIN)
        fd = call(create, create->flags);
    if (decision == IEZ_MISS && fd >= 0)
        note(&order, IEZ_MISSED);
    return fd;
}
