/* Which watched file an MPI file handle stands for. */
#ifndef IEZ_MPI_FILES_H
#define IEZ_MPI_FILES_H

#include <stdint.h>

#include "trace_format.h"

/* `file` may be NULL: not watched. What finds no place is not attributed. */
void iez_mpi_file_opened(uintptr_t handle, struct iez_trace_file *file);
void iez_mpi_file_closed(uintptr_t handle);

/* NULL: not watched. */
struct iez_trace_file *iez_mpi_file(uintptr_t handle);

#endif
