#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plan.h"

#define PROBE_BYTES 4096UL       /* no page is smaller */
#define STACK_SPAN  (64UL << 20) /* the kernel maps nothing else this close below the main stack */

struct range {
    uintptr_t start, end;
};

static struct range program; /* the main program's readable segments, one after the other */
static uintptr_t heap_start;
static uintptr_t stack_top;

/* The first object is the main program. Its loaded segments are contiguous but for gaps that the
 * linker pads; only the largest run without a gap is kept. */
static int note_program(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R))
            continue;
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        uintptr_t end = start + segment->p_memsz;
        uintptr_t page_start = start & ~(PROBE_BYTES - 1);
        uintptr_t page_end = (program.end + PROBE_BYTES - 1) & ~(PROBE_BYTES - 1);
        if (program.end && page_start <= page_end)
            program.end = end;
        else if (end - start > program.end - program.start)
            program = (struct range){start, end};
    }
    return 1;
}

void iez_path_start(void) {
    dl_iterate_phdr(note_program, NULL);
    heap_start = (uintptr_t)sbrk(0);
    /* The program's name is the last thing the kernel put on the main stack: everything from a
     * frame up to it, arguments and environment included, is there. */
    stack_top = getauxval(AT_EXECFN);
}

/* Whether the page of `at` is known to be readable. */
static bool is_known(uintptr_t at) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (at >= program.start && at < program.end)
        return true;
    if (stack_top && here < stack_top && stack_top - here < STACK_SPAN && at >= here &&
        at < stack_top)
        return true;
    return heap_start && at >= heap_start && at < (uintptr_t)sbrk(0);
}

/* Asks the kernel to read 8 bytes: it does so before it finds that the request is nonsense. */
static bool kernel_can_read(uintptr_t at) {
    long answer = syscall(SYS_rt_sigprocmask, -1, at & ~7UL, NULL, 8);
    return answer != 0 && errno == EINVAL;
}

long iez_path_length(const char *path) {
    uintptr_t start = (uintptr_t)path;
    uintptr_t at = start;
    while (at - start < IEZ_PATH_MAX) {
        /* Only the first page is taken for granted: behind it a program may have put a guard. */
        if (at != start || !is_known(at))
            if (at < PROBE_BYTES || !kernel_can_read(at))
                return -1;
        uintptr_t end = (at | (PROBE_BYTES - 1)) + 1;
        if (end - start > IEZ_PATH_MAX)
            end = start + IEZ_PATH_MAX;
        const char *nul = memchr((const char *)at, '\0', end - at);
        if (nul)
            return nul - path;
        at = end;
    }
    return -1;
}

/* Appends `path` to the clean path in `out`, taking "", "." and ".." away as text. That differs
 * from the kernel's way only behind a symbolic link, and then costs a missed or a wrong plan
 * entry, never a wrong file. */
static long append_clean(char *out, size_t length, const char *path, size_t bytes) {
    const char *end = path + bytes;
    while (path < end) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        size_t n = (size_t)((slash ? slash : end) - path);
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            while (length > 0 && out[--length] != '/')
                ;
        } else if (n > 0 && !(n == 1 && path[0] == '.')) {
            if (length + 1 + n >= IEZ_PATH_MAX)
                return -1;
            out[length++] = '/';
            memcpy(out + length, path, n);
            length += n;
        }
        path += n + 1;
    }
    return (long)length;
}

bool iez_path_is_clean(const char *path, size_t bytes) {
    for (size_t i = 0; i + 1 < bytes; i++)
        if (path[i] == '/' && (path[i + 1] == '/' || path[i + 1] == '.'))
            return false;
    return path[bytes - 1] != '/';
}

long iez_path_of_descriptor(int fd, char *out) {
    char link[32] = "/proc/self/fd/";
    char digits[12];
    int n = 0, at = 14;
    if (fd < 0)
        return -1;
    do
        digits[n++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (n > 0)
        link[at++] = digits[--n];
    link[at] = '\0';
    return syscall(SYS_readlinkat, AT_FDCWD, link, out, IEZ_PATH_MAX);
}

/* The directory that relative names start from; its length, or -1. */
static long base_directory(int dirfd, char *out) {
    if (dirfd != AT_FDCWD)
        return iez_path_of_descriptor(dirfd, out);
    long n = syscall(SYS_getcwd, out, IEZ_PATH_MAX); /* counts the NUL */
    return n > 1 ? n - 1 : -1;
}

const char *iez_path_absolute(int dirfd, const char *path, size_t bytes, char *scratch,
                              size_t *clean_bytes) {
    /* A last "/" means a directory: nothing that a plan could create. */
    if (bytes == 0 || path[bytes - 1] == '/')
        return NULL;
    if (path[0] == '/' && iez_path_is_clean(path, bytes)) {
        *clean_bytes = bytes;
        return path;
    }
    long length = 0;
    if (path[0] != '/') {
        length = base_directory(dirfd, scratch);
        if (length < 1 || scratch[0] != '/')
            return NULL;
        if (length == 1)
            length = 0; /* "/" itself */
    }
    length = append_clean(scratch, (size_t)length, path, bytes);
    if (length < 1)
        return NULL;
    *clean_bytes = (size_t)length;
    return scratch;
}
