/* What is written by MPI-IO: its own sum for each file. The bytes themselves are counted where they
 * are written below it, perhaps by another rank. All forms are handed on with six words: handles,
 * buffers and offsets are as wide, and a form that takes fewer does not look at the rest. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
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
        type_size = (type_size_function)iez_caller_sibling("PMPI_Type_size", real);
    if (type_size && type_size(type, &bytes) == 0 && bytes > 0)
        iez_note_layer(file, IEZ_MPIIO, (uint64_t)count * (uint64_t)bytes);
    errno = saved;
}

/* One form: where the count is, and the names of the form with a count of 64 bits and of the one
 * with an int, which are the same but for the last two letters. */
struct form {
    const char *name, *short_name;
    int count_at;
    bool is_long;
};

/* A caller that asks whether a long form is there finds ours, also where MPI has none (before MPI
 * 4): the short one then does, for a count that fits. The words are passed alike. */
static int forward(const struct form *form, const void *caller, const word *w) {
    int before_errno = errno;
    int64_t count = form->is_long ? (int64_t)w[form->count_at] : (int)w[form->count_at];
    word real = iez_caller_real_or(form->name, form->short_name, "MPI_", caller);
    if (form->is_long && count > INT_MAX &&
        real == iez_caller_real(form->short_name, "MPI_", caller))
        real = 0;
    errno = before_errno;
    if (!real)
        return FAILED;
    enum iez_api before = iez_on() ? iez_context_enter(IEZ_MPIIO) : iez_context_api;
    int error = ((write_function)real)(w[0], w[1], w[2], w[3], w[4], w[5]);
    iez_context_leave(before);
    if (error == 0 && iez_tracing())
        note(real, w[0], count, w[form->count_at + 1]);
    return error;
}

#define WRITER(name, short_name, count_at, is_long)                                                \
    IEZ_EXPORT int name(word a, word b, word c, word d, word e, word f) {                          \
        static const struct form form = {#name, #short_name, count_at, is_long};                   \
        return forward(&form, __builtin_return_address(0), (const word[]){a, b, c, d, e, f});      \
    }

/* (file, buffer, count, type, …) and (file, offset, buffer, count, type, …) */
#define HERE(name)                                                                                 \
    WRITER(name, name, 2, false)                                                                   \
    WRITER(name##_c, name, 2, true)
#define THERE(name)                                                                                \
    WRITER(name, name, 3, false)                                                                   \
    WRITER(name##_c, name, 3, true)

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
