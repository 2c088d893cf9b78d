/* Parallel HDF5: every rank writes its rows of one dataset in one file. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    enum { ROWS = 256, COLUMNS = 16 };
    static int rows[ROWS][COLUMNS];
    int rank, size;
    if (argc != 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        rows[i / COLUMNS][i % COLUMNS] = rank * ROWS * COLUMNS + i;

    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t shape[2] = {(hsize_t)size * ROWS, COLUMNS}, count[2] = {ROWS, COLUMNS};
    hsize_t start[2] = {(hsize_t)rank * ROWS, 0};
    hid_t space = H5Screate_simple(2, shape, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(create, 0); /* the same bytes in each run */
    hid_t data = H5Dcreate2(file, "rows", H5T_STD_I32LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    herr_t error = H5Dwrite(data, H5T_NATIVE_INT, memory, space, transfer, rows);
    H5Pclose(transfer);
    H5Dclose(data);
    H5Pclose(create);
    H5Sclose(memory);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(access);
    if (rank == 0)
        printf("ranks %d error %d\n", size, (int)error);
    MPI_Finalize();
    return error < 0;
}
