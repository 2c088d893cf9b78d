/* What the calling thread is inside of: set by the MPI and HDF5 wrappers, read where a create is
 * noted. Context only: placement never depends on it. */
#ifndef IEZ_CONTEXT_H
#define IEZ_CONTEXT_H

#include "trace_format.h"

/* initial-exec: no lazy TLS, which would allocate on first use in a thread. */
extern __thread enum iez_api iez_context_api __attribute__((tls_model("initial-exec")));

/* Enters `api` unless the thread is in a higher level already (HDF5 above MPI-IO above POSIX);
 * gives what iez_context_leave needs to restore. */
static inline enum iez_api iez_context_enter(enum iez_api api) {
    enum iez_api before = iez_context_api;
    if (api > before)
        iez_context_api = api;
    return before;
}

static inline void iez_context_leave(enum iez_api before) {
    iez_context_api = before;
}

#endif
