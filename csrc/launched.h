/* Which rank of how many this process is, as its launcher says in the environment: a process that
 * writes by POSIX alone calls no MPI function that could be asked. */
#ifndef IEZ_LAUNCHED_H
#define IEZ_LAUNCHED_H

struct iez_launched {
    int rank; /* -1: not launched as a rank */
    int size; /* 0: not known */
};

extern struct iez_launched iez_launched;

/* Called once, at the start. */
void iez_launched_start(void);

#endif
