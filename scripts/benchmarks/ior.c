/* Writes as IOR does with a file per process, by POSIX calls: each rank BYTES in writes of 4 KiB.
 *
 *   ior DIRECTORY BYTES */
#include <fcntl.h>
#include <mpi.h>

#include "batch.h"

#define TRANSFER 4096

static void write_file(const char *path, long long bytes) {
    static char data[TRANSFER];
    int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0644);
    if (fd < 0)
        give_up(path);
    for (long long done = 0; done < bytes; done += TRANSFER)
        if (pwrite(fd, data, TRANSFER, done) != TRANSFER)
            give_up(path);
    if (close(fd) != 0)
        give_up(path);
}

/* An MPI library waits awake, and how long depends on what else the machine does: these naps are
 * not to be measured. */
static void wait_for_all(void) {
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

int main(int count, char **words) {
    int rank;
    char path[4096];
    MPI_Init(&count, &words);
    if (count != 3)
        return 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/testFile.%08d", words[1], rank);
    wait_for_all();
    write_file(path, atoll(words[2]));
    wait_for_all();
    MPI_Finalize();
    return 0;
}
