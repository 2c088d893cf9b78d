#include "launched.h"

#include <stddef.h>
#include <string.h>

extern char **environ;

struct iez_launched iez_launched = {-1, 0};

/* Later ones hold only where no earlier one is there: ranks of Open MPI below srun have both. */
static const char ranks[][24] = {
    "OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "PALS_RANKID=", "SLURM_PROCID="};
static const char sizes[][24] = {
    "OMPI_COMM_WORLD_SIZE=", "PMI_SIZE=", "PALS_SIZE=", "SLURM_STEP_NUM_TASKS=", "SLURM_NTASKS="};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Digits alone; -1 for anything else. */
static int number(const char *text) {
    long value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value < 100000000; at++)
        value = value * 10 + (*at - '0');
    return at == text || *at ? -1 : (int)value;
}

static void match(const char *variable, const char (*names)[24], size_t count, size_t *best,
                  int *value) {
    for (size_t i = 0; i < *best && i < count; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(variable, names[i], n) == 0 && number(variable + n) >= 0) {
            *best = i;
            *value = number(variable + n);
        }
    }
}

void iez_launched_start(void) {
    size_t best_rank = COUNT(ranks), best_size = COUNT(sizes);
    for (char **each = environ; each && *each; each++) {
        char first = **each;
        if (first != 'O' && first != 'P' && first != 'S')
            continue;
        match(*each, ranks, COUNT(ranks), &best_rank, &iez_launched.rank);
        match(*each, sizes, COUNT(sizes), &best_size, &iez_launched.size);
    }
}
