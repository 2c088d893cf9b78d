/* The outcome file: what one process did with its plan. One file a process, mapped shared, so that
 * it survives SIGKILL; none for a process that touched no watched file. It lies beside the plan and
 * is called HOST.PID.N.outcome. The text between the cffi marks is also read by
 * iez_common/_core_build.py. */
#ifndef IEZ_OUTCOME_FORMAT_H
#define IEZ_OUTCOME_FORMAT_H

#include "trace_format.h"

/* cffi: begin */
#define IEZ_OUTCOME_MAGIC   0x314d4f4354555a49 /* "IZUTCOM1" in memory */
#define IEZ_OUTCOME_VERSION 1

struct iez_outcome_file {
    uint64_t magic;
    uint32_t version;
    uint32_t file_bytes;
    uint64_t plan_generation; /* of the newest plan it used */
    int32_t pid;
    int32_t rank;        /* in the communicator of the last MPI_File_open; -1 none */
    int32_t comm_size;   /* of that communicator; 0 none */
    uint32_t collective; /* MPI_File_open calls on more than one rank */
    char host[64];
    char program[64];
    uint64_t outcomes[32]; /* by enum iez_outcome */
    uint64_t placed_by[8]; /* IEZ_PLACED by enum iez_api */
};
/* cffi: end */

_Static_assert(sizeof(struct iez_outcome_file) == 488, "outcome file");
_Static_assert(IEZ_OUTCOMES <= 32 && IEZ_APIS <= 8, "room for the counters");

#endif
