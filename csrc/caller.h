/* Finds the function that a caller of an MPI or HDF5 wrapper meant: docs/shim.md.
 *
 * dlsym(RTLD_NEXT) alone does not do. It finds nothing where the library was opened by a Python
 * extension for itself alone (mpi4py, h5py), and the wrong one where a process holds several (the
 * wheels of h5py and netCDF4 each bring an HDF5), so the answer depends on who calls.
 * Ordinary context only: not in signal handlers. Safe with threads. May change errno. */
#ifndef IEZ_CALLER_H
#define IEZ_CALLER_H

#include <stdint.h>

/* The function `name` as the code at `return_address` would have got it without this library; NULL
 * when no loaded object has it. `prefix` is common to the names of its library ("H5"). */
uintptr_t iez_caller_real(const char *name, const char *prefix, const void *return_address);

/* The same, or `fallback` where there is no `name`: of two forms of a function, the newer one may
 * be missing. */
uintptr_t iez_caller_real_or(const char *name, const char *fallback, const char *prefix,
                             const void *return_address);

/* The function `name` of the library that `function` belongs to, or of one that it needs. */
uintptr_t iez_caller_sibling(const char *name, uintptr_t function);

#endif
