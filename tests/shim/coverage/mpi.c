/* Every form of MPI_File_write, each to a file of its own: DIRECTORY/NAME. Each rank writes
 * COUNT numbers, its own part of the file. The forms that end in _c are there since MPI 4. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define COUNT 100

static int rank, size, numbers[COUNT];

static MPI_File begin(const char *folder, const char *name) {
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_seek(file, rank * COUNT, MPI_SEEK_SET);
    return file;
}

#define OFFSET ((MPI_Offset)rank * COUNT)

/* FORM(name, call): `call` returns an error code. */
#define FORM(name, call)                                                                           \
    do {                                                                                           \
        MPI_File file = begin(folder, #name);                                                      \
        MPI_Request request = MPI_REQUEST_NULL;                                                    \
        MPI_Status status;                                                                         \
        int error = (call);                                                                        \
        MPI_Wait(&request, &status);                                                               \
        MPI_Barrier(MPI_COMM_WORLD);                                                               \
        MPI_File_close(&file);                                                                     \
        if (error != MPI_SUCCESS)                                                                  \
            printf("%s: %d\n", #name, error);                                                      \
    } while (0)

#define HERE(name)        FORM(name, name(file, numbers, COUNT, MPI_INT, &status))
#define THERE(name)       FORM(name, name(file, OFFSET, numbers, COUNT, MPI_INT, &status))
#define LATER(name)       FORM(name, name(file, numbers, COUNT, MPI_INT, &request))
#define LATER_THERE(name) FORM(name, name(file, OFFSET, numbers, COUNT, MPI_INT, &request))
#define SPLIT(name, end)                                                                           \
    FORM(name, name(file, numbers, COUNT, MPI_INT) || end(file, numbers, &status))
#define SPLIT_THERE(name, end)                                                                     \
    FORM(name, name(file, OFFSET, numbers, COUNT, MPI_INT) || end(file, numbers, &status))

static void plain_forms(const char *folder) {
    HERE(MPI_File_write);
    HERE(MPI_File_write_all);
    HERE(MPI_File_write_shared);
    HERE(MPI_File_write_ordered);
    THERE(MPI_File_write_at);
    THERE(MPI_File_write_at_all);
    LATER(MPI_File_iwrite);
    LATER(MPI_File_iwrite_all);
    LATER(MPI_File_iwrite_shared);
    LATER_THERE(MPI_File_iwrite_at);
    LATER_THERE(MPI_File_iwrite_at_all);
    SPLIT(MPI_File_write_all_begin, MPI_File_write_all_end);
    SPLIT(MPI_File_write_ordered_begin, MPI_File_write_ordered_end);
    SPLIT_THERE(MPI_File_write_at_all_begin, MPI_File_write_at_all_end);
}

static void large_forms(const char *folder) {
#if MPI_VERSION >= 4
    HERE(MPI_File_write_c);
    HERE(MPI_File_write_all_c);
    HERE(MPI_File_write_shared_c);
    HERE(MPI_File_write_ordered_c);
    THERE(MPI_File_write_at_c);
    THERE(MPI_File_write_at_all_c);
    LATER(MPI_File_iwrite_c);
    LATER(MPI_File_iwrite_all_c);
    LATER(MPI_File_iwrite_shared_c);
    LATER_THERE(MPI_File_iwrite_at_c);
    LATER_THERE(MPI_File_iwrite_at_all_c);
    SPLIT(MPI_File_write_all_begin_c, MPI_File_write_all_end);
    SPLIT(MPI_File_write_ordered_begin_c, MPI_File_write_ordered_end);
    SPLIT_THERE(MPI_File_write_at_all_begin_c, MPI_File_write_at_all_end);
#else
    (void)folder;
#endif
}

static void other_calls(const char *folder) {
    FORM(MPI_File_set_size, MPI_File_set_size(file, 12345));
    FORM(MPI_File_open, MPI_SUCCESS);
    FORM(MPI_File_close, MPI_File_write_at(file, OFFSET, numbers, COUNT, MPI_INT, &status));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = rank * COUNT + i;
    plain_forms(argv[1]);
    large_forms(argv[1]);
    other_calls(argv[1]);
    MPI_Finalize();
    return 0;
}
