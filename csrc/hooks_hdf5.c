/* H5Fcreate: says that the creates below it are HDF5's. */
#include <errno.h>
#include <stdint.h>

#include "caller.h"
#include "context.h"
#include "export.h"
#include "shim.h"

/* hid_t has 64 bits from HDF5 1.10 on; an int of 1.8 passes in the same register. */
typedef int64_t (*create_function)(const char *, uintptr_t, int64_t, int64_t);

IEZ_EXPORT int64_t H5Fcreate(const char *name, uintptr_t flags, int64_t create_list,
                             int64_t access_list) {
    int before_errno = errno;
    create_function real =
        (create_function)iez_caller_real("H5Fcreate", "H5", __builtin_return_address(0));
    errno = before_errno;
    if (!real)
        return -1; /* H5I_INVALID_HID */
    enum iez_api before = iez_on() ? iez_context_enter(IEZ_HDF5) : iez_context_api;
    int64_t file = real(name, flags, create_list, access_list);
    iez_context_leave(before);
    return file;
}
