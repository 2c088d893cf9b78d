/* HDF5: says that the creates and writes below it are HDF5's, and keeps the sum of what was written
 * to datasets. Its own functions are asked only after a success: then they leave no error behind.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "caller.h"
#include "context.h"
#include "export.h"
#include "shim.h"
#include "trace.h"
#include "trace_files.h"

#define NAME_BYTES 1024

/* hid_t has 64 bits from HDF5 1.10 on; an int of 1.8 passes in the same register. */
typedef int64_t hid;
typedef hid (*create_function)(const char *, uintptr_t, hid, hid);
typedef hid (*open_function)(const char *, uintptr_t, hid);
typedef int (*close_function)(hid);
typedef int (*write_function)(hid, hid, hid, hid, hid, const void *);
typedef ssize_t (*name_function)(hid, char *, size_t);
typedef hid (*id_function)(hid);
typedef int64_t (*count_function)(hid);
typedef size_t (*size_function)(hid);

static uintptr_t real_of(const char *name, const void *caller) {
    int saved = errno;
    uintptr_t real = iez_caller_real(name, "H5", caller);
    errno = saved;
    return real;
}

static enum iez_api enter(void) {
    return iez_on() ? iez_context_enter(IEZ_HDF5) : iez_context_api;
}

/* The name may be of a driver of its own, or a prefix of several files': only a file that was
 * opened below by this name is taken. */
static void note_open(const char *name) {
    int saved = errno;
    struct iez_trace_file *file = iez_trace_named(name, strlen(name), false);
    if (file)
        iez_file_api(file, IEZ_HDF5);
    errno = saved;
}

IEZ_EXPORT hid H5Fcreate(const char *name, uintptr_t flags, hid create_list, hid access_list) {
    create_function real = (create_function)real_of("H5Fcreate", __builtin_return_address(0));
    if (!real)
        return -1; /* H5I_INVALID_HID */
    enum iez_api before = enter();
    hid file = real(name, flags, create_list, access_list);
    iez_context_leave(before);
    if (file >= 0 && iez_tracing())
        note_open(name);
    return file;
}

IEZ_EXPORT hid H5Fopen(const char *name, uintptr_t flags, hid access_list) {
    open_function real = (open_function)real_of("H5Fopen", __builtin_return_address(0));
    if (!real)
        return -1;
    enum iez_api before = enter();
    hid file = real(name, flags, access_list);
    iez_context_leave(before);
    if (file >= 0 && iez_tracing())
        note_open(name);
    return file;
}

IEZ_EXPORT int H5Fclose(hid file) {
    close_function real = (close_function)real_of("H5Fclose", __builtin_return_address(0));
    if (!real)
        return -1;
    enum iez_api before = enter(); /* what was held back is written now */
    int failed = real(file);
    iez_context_leave(before);
    return failed;
}

/* Numbers up to this stand for no space of their own: H5S_ALL 0, H5S_BLOCK 1, H5S_PLIST 2. */
#define LAST_SPECIAL_SPACE 2
#define SPACE_IN_LIST      2

/* Elements that a write selects: of its space in memory, else of its space in the file, else all of
 * the dataset. */
static int64_t selected(uintptr_t real, hid dataset, hid memory_space, hid file_space) {
    count_function points = (count_function)iez_caller_sibling("H5Sget_select_npoints", real);
    id_function space_of = (id_function)iez_caller_sibling("H5Dget_space", real);
    close_function close_space = (close_function)iez_caller_sibling("H5Sclose", real);
    if (!points || !space_of || !close_space)
        return 0;
    if (memory_space > LAST_SPECIAL_SPACE)
        return points(memory_space);
    if (file_space > LAST_SPECIAL_SPACE)
        return points(file_space);
    if (file_space == SPACE_IN_LIST)
        return 0;
    hid space = space_of(dataset);
    int64_t count = space >= 0 ? points(space) : 0;
    if (space >= 0)
        close_space(space);
    return count;
}

static void note_write(uintptr_t real, hid dataset, hid type, hid memory_space, hid file_space) {
    char name[NAME_BYTES];
    int saved = errno;
    name_function name_of = (name_function)iez_caller_sibling("H5Fget_name", real);
    size_function size_of = (size_function)iez_caller_sibling("H5Tget_size", real);
    ssize_t bytes = name_of && size_of ? name_of(dataset, name, sizeof name) : 0;
    struct iez_trace_file *file = NULL;
    if (bytes > 0 && bytes < (ssize_t)sizeof name)
        file = iez_trace_named(name, (size_t)bytes, false);
    if (file) {
        int64_t count = selected(real, dataset, memory_space, file_space);
        if (count > 0)
            iez_note_layer(file, IEZ_HDF5, (uint64_t)count * size_of(type));
    }
    errno = saved;
}

IEZ_EXPORT int H5Dwrite(hid dataset, hid type, hid memory_space, hid file_space, hid transfer,
                        const void *data) {
    uintptr_t real = real_of("H5Dwrite", __builtin_return_address(0));
    if (!real)
        return -1;
    enum iez_api before = enter();
    int failed = ((write_function)real)(dataset, type, memory_space, file_space, transfer, data);
    iez_context_leave(before);
    if (failed >= 0 && iez_tracing())
        note_write(real, dataset, type, memory_space, file_space);
    return failed;
}
