/* Two HDF5 libraries in one program, kept apart by the versions of their symbols. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

int create_serial(const char *path);

int main(int argc, char **argv) {
    int rank;
    if (argc != 3)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    int parallel = file >= 0 && H5Fclose(file) == 0;
    int serial = rank != 0 || create_serial(argv[2]);
    H5Pclose(access);
    if (rank == 0)
        printf("parallel %d serial %d\n", parallel, serial);
    MPI_Finalize();
    return !parallel || !serial;
}
