/* A library that uses the serial HDF5, inside a program that uses a parallel one. */
#include <hdf5.h>

int create_serial(const char *path) {
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    return file >= 0 && H5Fclose(file) == 0;
}
