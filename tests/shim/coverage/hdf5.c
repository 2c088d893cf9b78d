/* HDF5, by the name of the file: H5Fcreate is created empty, H5Dwrite and H5Fclose with a dataset
 * of 1000 ints; H5Fopen has one, and 10 of its ints are written. */
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#define COUNT 1000

static int numbers[COUNT];

static void create_empty(const char *path) {
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    printf("%d\n", file >= 0);
    printf("%d\n", H5Fclose(file));
}

static void create(const char *path) {
    hsize_t extent = COUNT;
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t data =
        H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int error = H5Dwrite(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
    printf("%d %d\n", file >= 0, error);
    H5Dclose(data);
    H5Sclose(space);
    printf("%d\n", H5Fclose(file));
}

static void write_ten(const char *path) {
    hsize_t start = 100, ten = 10;
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t data = H5Dopen2(file, "data", H5P_DEFAULT);
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(1, &ten, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &ten, NULL);
    int error = H5Dwrite(data, H5T_NATIVE_INT, memory, space, H5P_DEFAULT, numbers);
    printf("%d %d\n", file >= 0, error);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(data);
    printf("%d\n", H5Fclose(file));
}

int main(int argc, char **argv) {
    char path[4096];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    if (argc < 3)
        return 2;
    snprintf(path, sizeof path, "%s/%s", argv[1], argv[2]);
    if (strcmp(argv[2], "H5Fcreate") == 0)
        create_empty(path);
    else if (strcmp(argv[2], "H5Fopen") == 0)
        write_ten(path);
    else
        create(path);
    return 0;
}
