#include "outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "context.h"
#include "plan.h"
#include "process.h"
#include "system.h"

#define ATTEMPTS_MAX 8 /* at making the file: descriptors may be short now and free later */

static char directory[IEZ_PATH_MAX];

void iez_outcome_start(const char *plan_path) {
    const char *slash = strrchr(plan_path, '/');
    size_t n = slash ? (size_t)(slash - plan_path) + 1 : 0;
    if (n < sizeof directory)
        memcpy(directory, plan_path, n);
}

static char *append(char *at, const char *end, const char *text) {
    while (*text && at + 1 < end)
        *at++ = *text++;
    *at = '\0';
    return at;
}

static char *append_number(char *at, const char *end, uint64_t number) {
    char digits[21];
    int n = 20;
    digits[n] = '\0';
    do
        digits[--n] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    return append(at, end, digits + n);
}

static void fill(struct iez_outcome_file *file, const char *host) {
    const char *program = (const char *)getauxval(AT_EXECFN);
    const char *slash = program ? strrchr(program, '/') : NULL;
    append(file->host, file->host + sizeof file->host, host);
    if (program)
        append(file->program, file->program + sizeof file->program, slash ? slash + 1 : program);
    file->version = IEZ_OUTCOME_VERSION;
    file->file_bytes = sizeof *file;
    file->pid = (int32_t)syscall(SYS_getpid);
    file->rank = -1;
    file->magic = IEZ_OUTCOME_MAGIC; /* last: a file without it is half made */
}

/* Every block is allocated before it is mapped: on a full disk the mapping would kill the job. */
static struct iez_outcome_file *map_file(int fd) {
    static const char zeros[sizeof(struct iez_outcome_file)];
    struct stat st;
    if (iez_sys_fstat(fd, &st) == 0 && !(st.st_mode & S_IRUSR))
        syscall(SYS_fchmod, fd, 0600); /* the program's umask hid it from its own user */
    if (syscall(SYS_write, fd, zeros, sizeof zeros) != (long)sizeof zeros)
        return NULL;
    void *file = mmap(NULL, sizeof zeros, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return file == MAP_FAILED ? NULL : file;
}

static struct iez_outcome_file *make_file(void) {
    struct utsname name;
    struct iez_scratch *scratch = iez_scratch_take();
    if (!scratch)
        return NULL;
    if (syscall(SYS_uname, &name) != 0)
        strcpy(name.nodename, "node");
    const char *end = scratch->path + sizeof scratch->path;
    struct iez_outcome_file *file = NULL;
    for (uint64_t n = 0; n < 100 && !file; n++) {
        char *at =
            append(append(append(scratch->path, end, directory), end, name.nodename), end, ".");
        at = append(append_number(at, end, (uint64_t)syscall(SYS_getpid)), end, ".");
        append(append_number(at, end, n), end, ".outcome");
        long fd = syscall(SYS_openat, AT_FDCWD, scratch->path,
                          O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
        if (fd < 0 && errno == EEXIST)
            continue; /* the number of an earlier process, used again */
        if (fd < 0)
            break;
        file = map_file((int)fd);
        syscall(SYS_close, fd);
        if (!file) {
            syscall(SYS_unlinkat, AT_FDCWD, scratch->path, 0);
            break;
        }
    }
    iez_scratch_give(scratch);
    if (file)
        fill(file, name.nodename);
    return file;
}

static struct iez_outcome_file *outcome_file(void) {
    struct iez_process *process = iez_process;
    struct iez_outcome_file *file = atomic_load(&process->file);
    if (file || atomic_load(&process->file_attempts) >= ATTEMPTS_MAX)
        return file;
    if (atomic_exchange(&process->file_making, 1))
        return NULL; /* another thread, or what this signal handler interrupted */
    atomic_fetch_add(&process->file_attempts, 1);
    file = make_file();
    atomic_store(&process->file, file);
    atomic_store(&process->file_making, 0);
    return file;
}

static void add(uint64_t *counter, uint64_t n) {
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Moves what was counted before the file was there into it. */
static void drain(struct iez_process *process, struct iez_outcome_file *file) {
    for (int i = 0; i < IEZ_OUTCOMES; i++)
        add(&file->outcomes[i], atomic_exchange(&process->pending[i], 0));
    for (int i = 0; i < IEZ_APIS; i++)
        add(&file->placed_by[i], atomic_exchange(&process->pending_placed_by[i], 0));
}

static void write_communicator(struct iez_process *process, struct iez_outcome_file *file) {
    file->rank = atomic_load(&process->rank_plus_one) - 1;
    file->comm_size = atomic_load(&process->comm_size);
    file->collective = atomic_load(&process->collective);
}

void iez_outcome_note(enum iez_outcome outcome, uint64_t plan_generation) {
    int saved = errno;
    struct iez_process *process = iez_process;
    struct iez_outcome_file *file = outcome_file();
    if (file) {
        add(&file->outcomes[outcome], 1);
        if (outcome == IEZ_PLACED)
            add(&file->placed_by[iez_context_api], 1);
        if (atomic_load(&process->pending_any) && atomic_exchange(&process->pending_any, 0))
            drain(process, file);
        file->plan_generation = plan_generation;
        write_communicator(process, file);
    } else {
        atomic_fetch_add(&process->pending[outcome], 1);
        if (outcome == IEZ_PLACED)
            atomic_fetch_add(&process->pending_placed_by[iez_context_api], 1);
        atomic_store(&process->pending_any, 1);
    }
    errno = saved;
}

void iez_outcome_communicator(int rank, int size) {
    atomic_store(&iez_process->rank_plus_one, rank + 1);
    atomic_store(&iez_process->comm_size, size);
    if (size > 1)
        atomic_fetch_add(&iez_process->collective, 1);
    struct iez_outcome_file *file = atomic_load(&iez_process->file);
    if (file)
        write_communicator(iez_process, file);
}
