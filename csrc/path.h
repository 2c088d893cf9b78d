/* Paths for the look-up. The kernel always gets the caller's own arguments. */
#ifndef IEZ_PATH_H
#define IEZ_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Learns which memory can be read without asking. Called once, on the main thread's stack. */
void iez_path_start(void);

/* Length of the string at `path`, or -1 where it cannot be read to its end or is too long. A bad
 * pointer is the kernel's to report (EFAULT), so memory is only touched that is known to be there:
 * a string that begins in the program's own segments, the heap or the main stack is known for free
 * up to the end of its page, the rest is asked for with one system call a page. */
long iez_path_length(const char *path);

/* The absolute, lexically clean form of `path` as openat(dirfd, path) would see it, for the
 * look-up: `path` itself where it is clean, else written to `scratch` (IEZ_PATH_MAX bytes). NULL
 * where there is none. A relative path costs one system call. */
const char *iez_path_absolute(int dirfd, const char *path, size_t bytes, char *scratch,
                              size_t *clean_bytes);

/* Whether an absolute path is lexically clean: no "//", "/./", "/../", nor a name that begins with
 * a dot behind a slash, which may be one of these. */
bool iez_path_is_clean(const char *path, size_t bytes);

/* The kernel's name for an open file, not ended by a NUL: its length, at most IEZ_PATH_MAX, or -1.
 * One system call. */
long iez_path_of_descriptor(int fd, char *out);

#endif
