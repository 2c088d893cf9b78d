/* Counts what happened to each create, in a file that survives the process (trace_format.h). It
 * lies beside the plan. */
#ifndef IEZ_OUTCOME_H
#define IEZ_OUTCOME_H

#include <stdint.h>

#include "trace_format.h"

/* Adds one to `outcome`. Async-signal-safe, no lock; keeps errno. */
void iez_outcome_note(enum iez_outcome outcome, uint64_t plan_generation);

/* Remembers the communicator of an MPI_File_open. Keeps errno. */
void iez_outcome_communicator(int rank, int size);

#endif
