/* A stand-in for an HDF5 library; ID tells the copies apart. */
#include <stdint.h>

/* Moves the functions of one copy: an address kept from the other copy then is a wrong one. */
void H5Fpad(volatile int *at) {
    for (int i = 0; i < 9; i++)
        at[i] = ID > 100 ? at[2 * i] / 7 + at[3 * i] / 9 : 0;
}

int64_t H5Fcreate(const char *name, unsigned flags, int64_t create_list, int64_t access_list) {
    (void)name;
    return ID + flags + create_list + access_list;
}

int64_t H5Fid(void) {
    return ID;
}
