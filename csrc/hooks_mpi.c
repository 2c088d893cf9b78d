/* MPI_File_open, from C and Fortran: says that the creates below it are MPI-IO's, which rank of how
 * many, and which handle is which file. Handles are opaque (int in MPICH, pointers in Open MPI) and
 * `amode` is never decoded (its numbers differ between MPI's ABIs). */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "caller.h"
#include "context.h"
#include "export.h"
#include "mpi_files.h"
#include "outcome.h"
#include "shim.h"
#include "trace.h"
#include "trace_file.h"
#include "trace_files.h"

enum { FAILED = 16 }; /* MPI_ERR_OTHER or _INTERN, depending on the library: not MPI_SUCCESS */

typedef int (*open_function)(uintptr_t, const char *, uintptr_t, uintptr_t, uintptr_t *);
typedef int (*ask_function)(uintptr_t, int *);
typedef void (*fortran_open_function)(const void *, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                      int *, uintptr_t);
typedef void (*fortran_ask_function)(const void *, int64_t *, int64_t *);

/* Asked after a successful open only: a bad communicator makes MPI_File_open return an error, but
 * makes MPI_Comm_rank end the job. Fortran's open may be made of C's, which then says it. */
static inline int should_note(enum iez_api before, int error) {
    return iez_on() && before != IEZ_MPIIO && error == 0;
}

/* Fortran's name is padded with blanks. A name may begin with the kind of file system: "ufs:/path".
 */
static struct iez_trace_file *file_named(const char *name, size_t bytes) {
    while (bytes > 0 && name[bytes - 1] == ' ')
        bytes--;
    const char *colon = memchr(name, ':', bytes), *slash = memchr(name, '/', bytes);
    struct iez_trace_file *file = iez_trace_named(name, bytes, false);
    if (!file && colon && (!slash || colon < slash)) {
        bytes -= (size_t)(colon + 1 - name);
        name = colon + 1;
    }
    if (!file)
        file = iez_trace_named(name, bytes, true);
    if (file)
        iez_file_api(file, IEZ_MPIIO);
    return file;
}

static void note_communicator(struct iez_trace_file *file, int rank, int size) {
    iez_outcome_communicator(rank, size);
    if (file) {
        file->comm_rank = rank;
        file->comm_size = (uint32_t)size;
        iez_trace_publish(file, sizeof *file);
    }
}

static void note(uintptr_t real, uintptr_t comm, struct iez_trace_file *file) {
    int rank = -1, size = 0;
    ask_function ask_rank = (ask_function)iez_caller_sibling("PMPI_Comm_rank", real);
    ask_function ask_size = (ask_function)iez_caller_sibling("PMPI_Comm_size", real);
    if (ask_rank && ask_size && ask_rank(comm, &rank) == 0 && ask_size(comm, &size) == 0)
        note_communicator(file, rank, size);
}

IEZ_EXPORT int MPI_File_open(uintptr_t comm, const char *name, uintptr_t amode, uintptr_t info,
                             uintptr_t *handle) {
    int before_errno = errno;
    uintptr_t real = iez_caller_real("MPI_File_open", "MPI_", __builtin_return_address(0));
    errno = before_errno;
    if (!real)
        return FAILED;
    enum iez_api before = iez_on() ? iez_context_enter(IEZ_MPIIO) : iez_context_api;
    int error = ((open_function)real)(comm, name, amode, info, handle);
    iez_context_leave(before);
    if (iez_tracing() && error == 0) {
        int after_errno = errno;
        struct iez_trace_file *file = file_named(name, strlen(name));
        iez_mpi_file_opened(*handle, file);
        if (should_note(before, error))
            note(real, comm, file);
        errno = after_errno;
    }
    return error;
}

typedef int (*close_function)(uintptr_t *);
typedef int (*size_function)(uintptr_t, int64_t);

IEZ_EXPORT int MPI_File_close(uintptr_t *handle) {
    int before_errno = errno;
    uintptr_t real = iez_caller_real("MPI_File_close", "MPI_", __builtin_return_address(0));
    errno = before_errno;
    if (!real)
        return FAILED;
    if (handle && iez_tracing())
        iez_mpi_file_closed(*handle);
    enum iez_api before = iez_on() ? iez_context_enter(IEZ_MPIIO) : iez_context_api;
    int error = ((close_function)real)(handle);
    iez_context_leave(before);
    return error;
}

IEZ_EXPORT int MPI_File_set_size(uintptr_t handle, int64_t bytes) {
    int before_errno = errno;
    uintptr_t real = iez_caller_real("MPI_File_set_size", "MPI_", __builtin_return_address(0));
    errno = before_errno;
    if (!real)
        return FAILED;
    enum iez_api before = iez_on() ? iez_context_enter(IEZ_MPIIO) : iez_context_api;
    int error = ((size_function)real)(handle, bytes);
    iez_context_leave(before);
    struct iez_trace_file *file = iez_tracing() ? iez_mpi_file(handle) : NULL;
    if (file && error == 0 && bytes > 0)
        iez_note_set_size(file, (uint64_t)bytes);
    return error;
}

/* One way of writing Fortran's names; all of them take the same arguments. */
struct fortran {
    const char *open, *rank, *size, *prefix;
};

/* 64-bit results, zeroed before: an INTEGER may have 4 or 8 bytes. */
static void fortran_note(const struct fortran *names, uintptr_t real, const void *comm,
                         struct iez_trace_file *file) {
    int64_t rank = 0, size = 0, rank_error = 0, size_error = 0;
    fortran_ask_function ask_rank = (fortran_ask_function)iez_caller_sibling(names->rank, real);
    fortran_ask_function ask_size = (fortran_ask_function)iez_caller_sibling(names->size, real);
    if (ask_rank && ask_size) {
        ask_rank(comm, &rank, &rank_error);
        ask_size(comm, &size, &size_error);
        if (!rank_error && !size_error)
            note_communicator(file, (int)rank, (int)size);
    }
}

#define TAKES                                                                                      \
    const void *comm, uintptr_t name, uintptr_t amode, uintptr_t info, uintptr_t file, int *error, \
        uintptr_t name_length
#define GIVES comm, name, amode, info, file, error, name_length

static void fortran_open(const struct fortran *names, const void *caller, TAKES) {
    int before_errno = errno, unasked = 0;
    uintptr_t real = iez_caller_real(names->open, names->prefix, caller);
    errno = before_errno;
    if (!error)
        error = &unasked; /* optional in mpi_f08 */
    if (!real) {
        *error = FAILED;
        return;
    }
    enum iez_api before = iez_on() ? iez_context_enter(IEZ_MPIIO) : iez_context_api;
    ((fortran_open_function)real)(GIVES);
    iez_context_leave(before);
    if (should_note(before, *error)) {
        int after_errno = errno;
        /* The length may be an int, whose other half is anything. */
        size_t bytes = (uint32_t)name_length;
        bool is_name = name && bytes < IEZ_PATH_MAX;
        fortran_note(names, real, comm, is_name ? file_named((const char *)name, bytes) : NULL);
        errno = after_errno;
    }
}

IEZ_EXPORT void mpi_file_open(TAKES) {
    static const struct fortran names = {"mpi_file_open", "mpi_comm_rank", "mpi_comm_size", "mpi_"};
    fortran_open(&names, __builtin_return_address(0), GIVES);
}

IEZ_EXPORT void mpi_file_open_(TAKES) {
    static const struct fortran names = {"mpi_file_open_", "mpi_comm_rank_", "mpi_comm_size_",
                                         "mpi_"};
    fortran_open(&names, __builtin_return_address(0), GIVES);
}

IEZ_EXPORT void mpi_file_open__(TAKES) {
    static const struct fortran names = {"mpi_file_open__", "mpi_comm_rank__", "mpi_comm_size__",
                                         "mpi_"};
    fortran_open(&names, __builtin_return_address(0), GIVES);
}

IEZ_EXPORT void MPI_FILE_OPEN(TAKES) {
    static const struct fortran names = {"MPI_FILE_OPEN", "MPI_COMM_RANK", "MPI_COMM_SIZE", "MPI_"};
    fortran_open(&names, __builtin_return_address(0), GIVES);
}

IEZ_EXPORT void mpi_file_open_f08_(TAKES) {
    static const struct fortran names = {"mpi_file_open_f08_", "mpi_comm_rank_f08_",
                                         "mpi_comm_size_f08_", "mpi_"};
    fortran_open(&names, __builtin_return_address(0), GIVES);
}
