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
#include "text.h"
#include "trace.h"
#include "trace_files.h"

/* Where the stack was when this thread entered a create; 0: it is in none. A mark above which
 * the stack has grown back is left over from a jump out of a signal handler. */
static __thread uintptr_t inside __attribute__((tls_model("initial-exec")));

static bool enter(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (inside && here < inside)
        return false;
    inside = here;
    return true;
}

void iez_done(struct iez_order *order) {
    if (order->is_outermost)
        inside = 0;
}

static int call(const struct iez_create *create, int flags) {
    if (create->open)
        return create->open(create->path, flags, create->mode);
    return create->openat(create->dirfd, create->path, flags, create->mode);
}

static void note(struct iez_order *order, enum iez_outcome outcome) {
    iez_outcome_note(outcome, order->plan->header->generation);
    order->outcome = outcome + 1U;
}

void iez_note_unplaced(struct iez_order *order, enum iez_outcome outcome) {
    note(order, outcome);
}

static bool has_planned_layout(const struct iez_order *order) {
    return order->outcome == IEZ_PLACED + 1U || order->outcome == IEZ_SHARED + 1U;
}

void iez_note_created(int fd, const struct iez_order *order, int flags, bool was_placed,
                      bool created) {
    if (!iez_tracing())
        return;
    struct iez_opened opened = {.file = order->file,
                                .layout = has_planned_layout(order) ? order->found.layout : NULL,
                                .flags = flags,
                                .created = IEZ_CREATED_PERHAPS,
                                .before_ns = order->before_ns,
                                .outcome = order->outcome};
    if (created || (flags & O_EXCL))
        opened.created = IEZ_CREATED_YES;
    else if (was_placed)
        opened.created = IEZ_CREATED_NO;
    iez_note_open(fd, &opened);
}

static enum iez_decision look_up(int dirfd, const char *path, size_t bytes,
                                 struct iez_lookup *lookup, struct iez_order *order) {
    size_t clean_bytes;
    const char *clean = iez_path_absolute(dirfd, path, bytes, lookup->path, &clean_bytes);
    if (!clean)
        return IEZ_PASS;
    const char *trouble =
        iez_plan_find(order->plan, clean, clean_bytes, lookup->canonical, &order->found);
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
    iez_process_start();
    order->is_outermost = enter();
    order->file = NULL;
    order->outcome = 0;
    if (!order->is_outermost)
        return IEZ_PASS;
    order->plan = iez_current_plan();
    order->before_ns = iez_coarse_ns();
    long bytes = order->plan->header->prefixes.count ? iez_path_length(path) : -1;
    struct iez_lookup *lookup = bytes > 0 ? iez_lookup_take() : NULL;
    if (lookup) {
        decision = look_up(dirfd, path, (size_t)bytes, lookup, order);
        /* Before the create: nothing may be held across it, where the thread may be cancelled. */
        if (decision != IEZ_PASS && iez_tracing())
            order->file = iez_file_of(&order->found);
        iez_lookup_give(lookup);
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

/* EEXIST is the MDS's word that there is one, even if this node does not see it yet. */
static bool has_layout(enum iez_outcome outcome) {
    return outcome == IEZ_PLACED || outcome == IEZ_SHARED || outcome == IEZ_EXISTED ||
           outcome == IEZ_DIFFERS || outcome == IEZ_REFUSED_EEXIST;
}

/* Reads the layout of the file and compares it with what is asked in request->wire. `answer` is
 * what the request got; where there is no layout, it tells why. A request that was answered with 0
 * may have done nothing, and one that failed may have lost against another rank's. */
static enum iez_outcome read_back(const struct iez_order *order, int fd, int answer,
                                  const struct iez_request *request, long asked_bytes) {
    long bytes = iez_mds_get(order->found.prefix, fd, request->back, request->room);
    if (bytes == -ERANGE)
        return IEZ_DIFFERS;
    if (bytes == -ENODATA && !answer)
        return IEZ_SILENT;
    if (bytes < 0)
        return refusal(answer ? answer : (int)-bytes);
    bool agrees =
        iez_wire_agrees(request->wire, (uint64_t)asked_bytes, request->back, (uint64_t)bytes);
    return agrees ? IEZ_PLACED : IEZ_DIFFERS;
}

/* The ioctl writes its answer into the buffer it is given, so the request goes out from the second
 * one and the first keeps what was asked. */
static enum iez_outcome ask(const struct iez_order *order, int fd,
                            const struct iez_request *request, long asked_bytes) {
    memcpy(request->back, request->wire, (size_t)asked_bytes);
    int answer =
        iez_mds_set(order->plan, order->found.prefix, fd, request->back, (uint64_t)asked_bytes);
    return read_back(order, fd, answer, request, asked_bytes);
}

/* A file that was there already may be one that another rank is just creating: it gets the layout
 * only if it has none. */
static enum iez_outcome ask_if_none(const struct iez_order *order, int fd,
                                    const struct iez_request *request, long asked_bytes) {
    enum iez_outcome now = read_back(order, fd, ENODATA, request, asked_bytes);
    if (now == IEZ_DIFFERS)
        return IEZ_EXISTED;
    if (now != IEZ_PLACED)
        now = ask(order, fd, request, asked_bytes);
    return now == IEZ_PLACED ? IEZ_SHARED : now;
}

/* Gives the open file its layout. The record in the plan is smaller than the request that it makes:
 * 12 bytes to one, at most. */
static enum iez_outcome set_layout(const struct iez_order *order, int fd, bool created) {
    const struct iez_found *found = &order->found;
    struct iez_request request;
    uint64_t record_bytes = found->layout->bytes;
    if (!iez_request_take(record_bytes * 12 < IEZ_WIRE_MAX ? record_bytes * 12 : IEZ_WIRE_MAX,
                          &request))
        return IEZ_BUSY;
    enum iez_outcome outcome = IEZ_REFUSED_EINVAL;
    long asked_bytes =
        iez_layout_encode(found->layout, found->layout_bytes, request.wire, request.room);
    if (asked_bytes > 0)
        outcome = (created ? ask : ask_if_none)(order, fd, &request, asked_bytes);
    iez_request_give(&request);
    return outcome;
}

static int delay_flag(const struct iez_order *order) {
    return order->found.prefix->kind == IEZ_KIND_MOCK ? 0 : IEZ_DELAY_CREATE;
}

static int directory_of(const struct iez_create *create) {
    return create->open ? AT_FDCWD : create->dirfd;
}

/* The file once more, by the raw call: no cancellation point while two descriptors are open. */
static int open_again(const struct iez_create *create, int flags) {
    long fd;
    do
        fd = syscall(SYS_openat, directory_of(create), create->path, flags, create->mode);
    while (fd < 0 && errno == EINTR);
    return (int)fd;
}

static bool may_open(const struct iez_create *create) {
    static const int rights[] = {[O_RDONLY] = R_OK, [O_WRONLY] = W_OK, [O_RDWR] = R_OK | W_OK, 0};
    return syscall(SYS_faccessat, directory_of(create), create->path,
                   rights[create->flags & O_ACCMODE]) == 0;
}

static bool is_same_file(int one, int other) {
    struct iez_measure first, second;
    return iez_sys_measure(one, &first) == 0 && iez_sys_measure(other, &second) == 0 &&
           first.inode == second.inode && first.device == second.device;
}

/* The file of `fd` by a plain open. Its name may be gone by now, or another file's: /proc still
 * knows it then. No program that another thread starts meanwhile inherits it. */
static int open_second(const struct iez_create *create, int fd) {
    int flags = (create->flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_CLOEXEC;
    int second = open_again(create, flags);
    if (second >= 0 && !is_same_file(second, fd)) {
        syscall(SYS_close, second);
        errno = ENOENT;
        second = -1;
    }
    if (second < 0 && errno != EMFILE && errno != ENFILE) {
        char name[32], *end = name + sizeof name;
        iez_append_number(iez_append(name, end, "/proc/self/fd/", sizeof name), end, (uint64_t)fd);
        second = (int)syscall(SYS_openat, AT_FDCWD, name, flags & ~O_NOFOLLOW);
    }
    return second;
}

/* The descriptor of a plain open in place of `fd`, under the same number. The file is there: it is
 * neither created nor cut again. Where it cannot be opened a second time (a umask without owner
 * write), `fd` stays as it is. */
static int exchange(const struct iez_create *create, int fd) {
    int second = open_second(create, fd);
    if (second >= 0) {
        syscall(SYS_dup3, second, fd, create->flags & O_CLOEXEC);
        syscall(SYS_close, second);
    } else if ((errno == EMFILE || errno == ENFILE) && may_open(create)) {
        syscall(SYS_close, fd);
        fd = open_again(create, create->flags & ~(O_EXCL | O_TRUNC));
    }
    return fd;
}

/* The file has no layout and a write would fail with EBADF. A second, plain open for writing makes
 * the MDS give it the default layout, and the first descriptor works too. An error there is what
 * the plain create would have given: then the file must not stay. */
static int give_default_layout(const struct iez_create *create, int fd, bool created) {
    if ((create->flags & O_ACCMODE) == O_RDONLY)
        return fd; /* a plain create for reading leaves it without a layout as well */
    int second = open_again(create, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int error = errno;
    if (second >= 0) {
        syscall(SYS_close, second);
    } else if (error == EMFILE || error == ENFILE) {
        fd = exchange(create, fd);
    } else if (created && error != EACCES && error != EPERM && error != ENOENT) {
        syscall(SYS_close, fd);
        syscall(SYS_unlinkat, directory_of(create), create->path, 0);
        errno = error;
        fd = -1;
    }
    return fd;
}

/* Closing any descriptor of a file drops the locks that this process holds on it. Asked for an open
 * file description, the kernel tells the process's own locks as well. */
static bool is_locked(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return syscall(SYS_fcntl, fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* Lustre takes the delay flag off the descriptor. Any other file system leaves O_ASYNC there, and
 * no call can clear it. */
static bool shows_delay_flag(int fd) {
    long flags = syscall(SYS_fcntl, fd, F_GETFL);
    return flags >= 0 && (flags & O_ASYNC);
}

static int finish(const struct iez_create *create, struct iez_order *order, int fd,
                  enum iez_outcome outcome, bool created) {
    uint32_t kind = order->found.prefix->kind;
    bool is_settled = kind == IEZ_KIND_MOCK || (kind == IEZ_KIND_LUSTRE && has_layout(outcome));
    bool lacks_layout = !is_settled && !has_layout(outcome);
    if (!is_settled && shows_delay_flag(fd)) {
        bool may_close = created || !is_locked(fd);
        if (may_close)
            fd = exchange(create, fd);
        /* The exchange has been a plain open, if there was one. */
        lacks_layout = lacks_layout && may_close && fd >= 0 && shows_delay_flag(fd);
    }
    if (lacks_layout)
        fd = give_default_layout(create, fd, created);
    note(order, outcome);
    return fd;
}

/* Something is there already, which a create without O_EXCL opens. Only an empty regular file can
 * be one that another rank is just creating; everything else gets the plain call. The size that
 * this node knows will do: to ask the OSTs for it could take long. */
static int place_existing(const struct iez_create *create, struct iez_order *order) {
    mode_t type;
    uint64_t size;
    if (iez_sys_type_and_size(directory_of(create), create->path, &type, &size) != 0) {
        note(order, IEZ_SYMLINK);
        return IEZ_PLAIN;
    }
    if (!S_ISREG(type) || size > 0) {
        note(order, IEZ_EXISTED);
        return IEZ_PLAIN;
    }
    int fd = call(create, create->flags | delay_flag(order));
    if (fd < 0)
        return fd;
    return finish(create, order, fd, set_layout(order, fd, false), false);
}

static int place(const struct iez_create *create, struct iez_order *order, bool *created) {
    const struct iez_found *found = &order->found;
    if ((create->mode & (S_IRUSR | S_IWUSR)) != (S_IRUSR | S_IWUSR)) {
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

int iez_place(const struct iez_create *create, struct iez_order *order, bool *created) {
    int saved = errno;
    *created = false;
    int fd = place(create, order, created);
    if (fd != -1)
        errno = saved;
    return fd;
}

int iez_open(const struct iez_create *create) {
    struct iez_order order;
    bool created = false;
    enum iez_decision decision = iez_decide(directory_of(create), create->path, &order);
    int fd = IEZ_PLAIN;
    if (decision == IEZ_PLACE)
        fd = iez_place(create, &order, &created);
    bool was_placed = fd != IEZ_PLAIN;
    if (fd == IEZ_PLAIN)
        fd = call(create, create->flags);
    if (decision == IEZ_MISS && fd >= 0)
        note(&order, IEZ_MISSED);
    if (decision != IEZ_PASS && fd >= 0)
        iez_note_created(fd, &order, create->flags, was_placed, created);
    else if (fd >= 0 && order.is_outermost && iez_tracing())
        iez_note_plain_open(fd, create->path, create->flags);
    iez_done(&order);
    return fd;
}
