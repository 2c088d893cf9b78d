#include "outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "context.h"
#include "current.h"
#include "process.h"
#include "system.h"

#define FAILURES_MAX 8 /* at making the file: descriptors may be short now and free later */

static char *append(char *at, const char *end, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes && text[i] && at + 1 < end; i++)
        *at++ = text[i];
    *at = '\0';
    return at;
}

static char *append_number(char *at, const char *end, uint64_t number) {
    char digits[21];
    size_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return append(at, end, digits + n, sizeof digits - n);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void fill(struct iez_outcome_file *file, const char *host) {
    const char *program = (const char *)getauxval(AT_EXECFN);
    append(file->host, file->host + sizeof file->host, host, SIZE_MAX);
    if (program)
        append(file->program, file->program + sizeof file->program, last_part(program), SIZE_MAX);
    file->version = IEZ_OUTCOME_VERSION;
    file->file_bytes = sizeof *file;
    file->pid = (int32_t)syscall(SYS_getpid);
    file->rank = -1;
    file->magic = IEZ_OUTCOME_MAGIC; /* last: a file without it is half made */
}

/* Whether blocks that were written once stay the file's own. Elsewhere (copy on write, network
 * file systems) a store to a mapped page may need new space, and kills where there is none. */
static bool keeps_its_blocks(int fd) {
    struct statfs fs;
    if (syscall(SYS_fstatfs, fd, &fs) != 0)
        return false;
    return fs.f_type == 0xEF53 /* ext */ || fs.f_type == 0x58465342 /* xfs */ ||
           fs.f_type == 0x01021994 /* tmpfs */;
}

/* A write beyond the process's own limit would be answered with SIGXFSZ. */
static bool may_write(uint64_t bytes) {
    struct rlimit limit;
    return syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur >= bytes;
}

static struct iez_outcome_file *map_file(int fd) {
    static const char zeros[sizeof(struct iez_outcome_file)];
    struct stat st;
    if (iez_sys_fstat(fd, &st) == 0 && !(st.st_mode & S_IRUSR))
        syscall(SYS_fchmod, fd, 0600); /* the program's umask hid it from its own user */
    if (syscall(SYS_write, fd, zeros, sizeof zeros) != (long)sizeof zeros)
        return NULL;
    void *file = mmap(NULL, sizeof zeros, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return NULL;
    atomic_store(&iez_process->file_is_careful, !keeps_its_blocks(fd));
    return file;
}

/* Only one thread at a time is here: file_making. */
static struct iez_outcome_file *make_file(void) {
    static char path[IEZ_PATH_MAX];
    const char *end = path + sizeof path, *plan_path = iez_current_path();
    struct iez_process *process = iez_process;
    struct utsname name;
    struct iez_outcome_file *file = NULL;
    if (!may_write(sizeof *file))
        return NULL;
    if (syscall(SYS_uname, &name) != 0)
        strcpy(name.nodename, "node");
    fill(&process->own, name.nodename);
    for (uint64_t n = 0; n < 100 && !file; n++) {
        char *at = append(path, end, plan_path, (size_t)(last_part(plan_path) - plan_path));
        at = append(append(at, end, name.nodename, SIZE_MAX), end, ".", 1);
        at = append(append_number(at, end, (uint64_t)process->own.pid), end, ".", 1);
        append(append_number(at, end, n), end, ".outcome", SIZE_MAX);
        long fd = syscall(SYS_openat, AT_FDCWD, path,
                          O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
        if (fd < 0 && errno == EEXIST)
            continue; /* the number of an earlier process, used again */
        if (fd < 0)
            break;
        file = map_file((int)fd);
        syscall(SYS_close, fd);
        if (!file) {
            syscall(SYS_unlinkat, AT_FDCWD, path, 0);
            break;
        }
        if (!atomic_load(&process->file_is_careful))
            fill(file, name.nodename);
    }
    return file;
}

static struct iez_outcome_file *outcome_file(struct iez_process *process) {
    struct iez_outcome_file *file = atomic_load(&process->file);
    if (file || atomic_load(&process->file_failures) >= FAILURES_MAX)
        return file;
    if (atomic_exchange(&process->file_making, 1))
        return NULL; /* another thread, or what this signal handler interrupted */
    file = make_file();
    if (!file)
        atomic_fetch_add(&process->file_failures, 1);
    atomic_store(&process->file, file);
    atomic_store(&process->file_making, 0);
    return file;
}

static void add(uint64_t *counter, uint64_t n) {
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static uint64_t take_all(uint64_t *counter) {
    return __atomic_exchange_n(counter, 0, __ATOMIC_RELAXED);
}

/* Moves what was counted before the file was there into it. */
static void drain(struct iez_process *process, struct iez_outcome_file *file) {
    for (int i = 0; i < IEZ_OUTCOMES; i++)
        add(&file->outcomes[i], take_all(&process->own.outcomes[i]));
    for (int i = 0; i < IEZ_APIS; i++)
        add(&file->placed_by[i], take_all(&process->own.placed_by[i]));
}

/* Lets the kernel do the store: it answers EFAULT where our own would kill. */
static void copy(struct iez_process *process, struct iez_outcome_file *file) {
    struct iovec from = {&process->own, sizeof process->own}, to = {file, sizeof *file};
    syscall(SYS_process_vm_writev, (long)process->own.pid, &from, 1L, &to, 1L, 0L);
}

static void publish(struct iez_process *process, struct iez_outcome_file *file) {
    if (atomic_load(&process->file_is_careful))
        copy(process, file);
    else if (atomic_load(&process->own_counts) && atomic_exchange(&process->own_counts, 0))
        drain(process, file);
}

static void write_communicator(struct iez_process *process, struct iez_outcome_file *counts) {
    counts->rank = atomic_load(&process->rank_plus_one) - 1;
    counts->comm_size = atomic_load(&process->comm_size);
    counts->collective = atomic_load(&process->collective);
}

/* Where this process counts now. */
static struct iez_outcome_file *counts_of(struct iez_process *process,
                                          struct iez_outcome_file *file) {
    return file && !atomic_load(&process->file_is_careful) ? file : &process->own;
}

void iez_outcome_note(enum iez_outcome outcome, uint64_t plan_generation) {
    int saved = errno;
    struct iez_process *process = iez_process;
    struct iez_outcome_file *file = outcome_file(process);
    struct iez_outcome_file *counts = counts_of(process, file);
    add(&counts->outcomes[outcome], 1);
    if (outcome == IEZ_PLACED)
        add(&counts->placed_by[iez_context_api], 1);
    counts->plan_generation = plan_generation;
    write_communicator(process, counts);
    if (counts == &process->own) {
        atomic_store(&process->own_counts, 1);
        file = atomic_load(&process->file); /* made by another thread meanwhile? */
    }
    if (file)
        publish(process, file);
    errno = saved;
}

void iez_outcome_communicator(int rank, int size) {
    int saved = errno;
    struct iez_process *process = iez_process;
    iez_process_start();
    atomic_store(&process->rank_plus_one, rank + 1);
    atomic_store(&process->comm_size, size);
    if (size > 1)
        atomic_fetch_add(&process->collective, 1);
    struct iez_outcome_file *file = atomic_load(&process->file);
    if (file) {
        write_communicator(process, counts_of(process, file));
        publish(process, file);
    }
    errno = saved;
}
