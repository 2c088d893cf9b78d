/* MPI-IO from C: every rank writes its part of one shared file. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    enum { PART = 4096 };
    char part[PART];
    int rank, size;
    MPI_File file;
    if (argc != 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(part, 'a' + rank, PART);
    int error = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY,
                              MPI_INFO_NULL, &file);
    if (!error) {
        error = MPI_File_write_at_all(file, (MPI_Offset)rank * PART, part, PART, MPI_BYTE,
                                      MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    /* A bad communicator is an error code, not the end of the job. */
    int refused = MPI_File_open(MPI_COMM_NULL, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != 0;
    if (rank == 0)
        printf("ranks %d error %d refused %d\n", size, error, refused);
    MPI_Finalize();
    return error != 0;
}
