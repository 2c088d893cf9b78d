/* Each rank writes 1000 times to DIRECTORY/rank.N; then rank 1 is killed, and with it the job. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char path[4096];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/rank.%d", argv[1], rank);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    for (int i = 0; i < 1000; i++)
        if (pwrite(fd, "01234567", 8, 8L * i) != 8)
            return 3;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
