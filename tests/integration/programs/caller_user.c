/* A library that uses an HDF5 library, as a Python extension does. */
#include <stdint.h>

int64_t H5Fcreate(const char *name, unsigned flags, int64_t create_list, int64_t access_list);
int64_t H5Fid(void);

int64_t use_create(void) {
    return H5Fcreate("f", 1, 2, 3) - 6;
}

int64_t use_id(void) {
    return H5Fid();
}
