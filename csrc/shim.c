#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "current.h"
#include "launched.h"
#include "path.h"
#include "process.h"
#include "real.h"
#include "system.h"
#include "trace.h"

_Atomic bool iez_is_on;

static char plan_path[IEZ_PATH_MAX];
static struct stat stderr_at_start;
static bool stderr_was_open;

/* Programs that start other programs: what they create is not the job's. */
static const char launchers[][20] = {
    "aprun",
    "hydra_bstrap_proxy",
    "hydra_pmi_proxy",
    "jsrun",
    "mpiexec",
    "mpiexec.hydra",
    "mpiexec.mpich",
    "mpiexec.openmpi",
    "mpirun",
    "mpirun.mpich",
    "mpirun.openmpi",
    "orted",
    "orterun",
    "prte",
    "prted",
    "prterun",
    "prun",
    "rsh",
    "slurmstepd",
    "srun",
    "ssh",
};

static bool is_launcher(void) {
    const char *program = (const char *)getauxval(AT_EXECFN);
    if (!program)
        return false;
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(name, launchers[i]) == 0)
            return true;
    return false;
}

static size_t append(char *line, size_t at, size_t room, const char *text) {
    while (*text && at < room)
        line[at++] = *text++;
    return at;
}

static bool make_marker(const char *path) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY;
    long fd = syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return fd >= 0;
}

/* A marker beside the plan makes it one line a job. Where none can be made there (another node
 * that does not see the directory), one a node and day, in shared memory. */
static bool may_speak(void) {
    static _Alignas(IEZ_PAGE_BYTES) char said_path[IEZ_PATH_MAX + sizeof ".said"];
    size_t n = append(said_path, 0, IEZ_PATH_MAX, plan_path);
    said_path[append(said_path, n, sizeof said_path - 1, ".said")] = '\0';
    if (plan_path[0] == '/') {
        if (make_marker(said_path))
            return true;
        if (errno == EEXIST)
            return false;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    char node_path[] = "/dev/shm/iez-said-0123456789abcdef";
    uint64_t hash = iez_hash(said_path, strlen(said_path)) + (uint64_t)now.tv_sec / 86400;
    for (size_t i = 0; i < 16; i++, hash >>= 4)
        node_path[sizeof node_path - 2 - i] = "0123456789abcdef"[hash & 15];
    return make_marker(node_path);
}

/* Descriptor 2 may be a data file of the program by now. */
static bool stderr_is_unchanged(void) {
    struct stat st;
    return stderr_was_open && iez_sys_fstat(2, &st) == 0 && st.st_dev == stderr_at_start.st_dev &&
           st.st_ino == stderr_at_start.st_ino;
}

/* A write may block on a full pipe, and kills where nobody reads any more. */
static bool stderr_is_ready(void) {
    struct pollfd poll = {.fd = 2, .events = POLLOUT};
    struct timespec at_once = {0, 0};
    return syscall(SYS_ppoll, &poll, 1L, &at_once, NULL, 0L) == 1 && poll.revents == POLLOUT;
}

static void say(const char *subject, const char *path, const char *trouble,
                const char *consequence) {
    int saved = errno;
    char line[512];
    size_t n = append(line, 0, sizeof line, subject);
    n = append(line, n, sizeof line / 2, path);
    n = append(line, n, sizeof line - 1, trouble);
    n = append(line, n, sizeof line - 1, "; ");
    n = append(line, n, sizeof line - 1, consequence);
    line[n++] = '\n';
    if (stderr_is_unchanged() && stderr_is_ready() && may_speak())
        (void)!syscall(SYS_write, 2, line, n);
    errno = saved;
}

void iez_say(const char *trouble, const char *consequence) {
    char path[IEZ_PATH_MAX / 8 + 3];
    size_t n = append(path, 0, sizeof path - 3, plan_path);
    path[append(path, n, sizeof path - 1, ": ")] = '\0';
    say("iez: plan ", path, trouble, consequence);
}

void iez_say_trace(const char *trouble) {
    say("iez: ", "", trouble, "the job goes on, not all of it is recorded");
}

void iez_off(const char *trouble) {
    atomic_store(&iez_is_tracing, false);
    if (atomic_exchange(&iez_is_on, false))
        iez_say(trouble, "the job runs plain; try: iez plan build");
}

static bool is_disabled(void) {
    const char *disable = getenv("IEZ_DISABLE");
    return disable && *disable && strcmp(disable, "0") != 0;
}

static void start(const char *path) {
    size_t n = strlen(path);
    if (n >= sizeof plan_path)
        return;
    memcpy(plan_path, path, n);
    stderr_was_open = iez_sys_fstat(2, &stderr_at_start) == 0;
    const char *trouble =
        path[0] == '/' ? iez_current_start(plan_path) : "its path is not absolute";
    if (trouble) {
        iez_say(trouble, "the job runs plain; try: iez plan build");
        return;
    }
    iez_path_start();
    atomic_store(&iez_is_on, true);
    iez_launched_start();
    iez_trace_start(iez_current_known());
}

__attribute__((constructor)) static void iez_constructor(void) {
    int saved = errno;
    iez_real_start();
    const char *path = getenv("IEZ_PLAN");
    if (path && *path && !getauxval(AT_SECURE) && !is_disabled() && !is_launcher())
        start(path);
    errno = saved;
}

__attribute__((destructor)) static void iez_destructor(void) {
    iez_trace_end(true);
}
