/* All ranks create one file at the same moment, in many rounds: race create|exclusive DIR ROUNDS.
 * Prints how many rounds went as they must: all ranks succeed, or exactly one does. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, good = 0;
    if (argc != 4)
        return 2;
    int exclusive = strcmp(argv[1], "exclusive") == 0, rounds = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; round++) {
        char path[4096];
        int mine[2], all[2];
        snprintf(path, sizeof path, "%s/shared.%d", argv[2], round);
        MPI_Barrier(MPI_COMM_WORLD);
        int fd = open(path, O_WRONLY | O_CREAT | (exclusive ? O_EXCL : 0), 0644);
        mine[0] = fd >= 0;
        mine[1] = fd < 0 && errno == EEXIST;
        MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        good += exclusive ? all[0] == 1 && all[1] == size - 1 : all[0] == size;
        if (fd >= 0) {
            /* Who wins differs, so everyone writes the same. */
            if (pwrite(fd, "shared", 6, 0) != 6)
                good = -1;
            close(fd);
        }
    }
    if (rank == 0)
        printf("ranks %d good rounds %d of %d\n", size, good, rounds);
    MPI_Finalize();
    return good != rounds;
}
