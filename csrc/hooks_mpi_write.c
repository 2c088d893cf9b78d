/* What is written by MPI-IO: its own sum for each file. The bytes themselves are counted where they
 * are written below it, perhaps by another rank. All forms are handed on with six words: handles,
 * buffers and offsets are as wide, and a form that takes fewer does not look at the rest. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "caller.h"
#include "context.h"
#include "export.h"
#include "mpi_files.h"
#include "shim.h"
#include "trace.h"

enum { FAILED = 16 }; /* as in hooks_mpi.c */

typedef uintptr_t word;
typedef int (*write_function)(word, word, word, word, word, word);
typedef int (*type_size_function)(word, int *);

/* Asked after a success only: then the type is good. */
static void note(word real, word handle, int64_t count, word type) {
    struct iez_trace_file *file = iez_mpi_file(handle);
    type_size_function type_size = NULL;
    int saved = errno, bytes = 0;
    if (file && count > 0)
        type_size = (type_size_function)iez_caller_sibling("MPI_Type_size", real);
    if (type_size && type_size(type, &bytes) == 0 && bytes > 0)
        iez_note_layer(file, IEZ_MPIIO, (uint64_t)count * (uint64_t)bytes);
    errno = saved;
}

static int forward(const char *name, const void *caller, const word *w, int64_t count, word type) {
    int before_errno = errno;
    word real = iez_caller_real(name, "MPI_", caller);
    errno = before_errno;
    if (!real)
        return FAILED;
    enum iez_api before = iez_on() ? iez_context_enter(IEZ_MPIIO) : iez_context_api;
    int error = ((write_function)real)(w[0], w[1], w[2], w[3], w[4], w[5]);
    iez_context_leave(before);
    if (error == 0 && iez_tracing())
        note(real, w[0], count, type);
    return error;
}

/* The count is an int, or as wide as MPI_Count in the forms whose names end in _c. */
#define WRITER(name, count_at, count_type)                                                         \
    IEZ_EXPORT int name(word a, word b, word c, word d, word e, word f) {                          \
        const word w[] = {a, b, c, d, e, f};                                                       \
        return forward(#name, __builtin_return_address(0), w, (count_type)w[count_at],             \
                       w[(count_at) + 1]);                                                         \
    }

/* (file, buffer, count, type, …) and (file, offset, buffer, count, type, …) */
#define HERE(name)                                                                                 \
    WRITER(name, 2, int)                                                                           \
    WRITER(name##_c, 2, int64_t)
#define THERE(name)                                                                                \
    WRITER(name, 3, int)                                                                           \
    WRITER(name##_c, 3, int64_t)

HERE(MPI_File_write)
HERE(MPI_File_write_all)
HERE(MPI_File_write_shared)
HERE(MPI_File_write_ordered)
HERE(MPI_File_iwrite)
HERE(MPI_File_iwrite_all)
HERE(MPI_File_iwrite_shared)
HERE(MPI_File_write_all_begin)
HERE(MPI_File_write_ordered_begin)
THERE(MPI_File_write_at)
THERE(MPI_File_write_at_all)
THERE(MPI_File_iwrite_at)
THERE(MPI_File_iwrite_at_all)
THERE(MPI_File_write_at_all_begin)
