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
    int missing = MPI_File_open(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    if (rank == 0)
        printf("ranks %d error %d missing %d\n", size, error, missing != 0);
    MPI_Finalize();
    return error != 0;
}
