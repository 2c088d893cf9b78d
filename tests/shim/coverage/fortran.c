/* MPI_File_open under the names that Fortran compilers give it, each on a file of its own. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define OPENS(name)                                                                                \
    void name(MPI_Fint *comm, char *path, MPI_Fint *amode, MPI_Fint *info, MPI_Fint *file,         \
              MPI_Fint *error, size_t path_bytes);                                                 \
    static const char called_##name[] = #name;

OPENS(mpi_file_open)
OPENS(mpi_file_open_)
OPENS(mpi_file_open__)
OPENS(MPI_FILE_OPEN)
OPENS(mpi_file_open_f08_)

/* The path is padded with blanks, as Fortran does. */
static void use(void (*opens)(MPI_Fint *, char *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *,
                              size_t),
                const char *folder, const char *name) {
    char path[1024];
    MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_WORLD), amode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    MPI_Fint info = MPI_Info_c2f(MPI_INFO_NULL), handle = 0, error = -1;
    int bytes = snprintf(path, sizeof path, "%s/%s", folder, name);
    memset(path + bytes, ' ', sizeof path - (size_t)bytes);
    opens(&comm, path, &amode, &info, &handle, &error, sizeof path);
    MPI_File file = MPI_File_f2c(handle);
    if (error != MPI_SUCCESS || MPI_File_close(&file) != MPI_SUCCESS)
        printf("%s: %d\n", name, (int)error);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    use(mpi_file_open, argv[1], called_mpi_file_open);
    use(mpi_file_open_, argv[1], called_mpi_file_open_);
    use(mpi_file_open__, argv[1], called_mpi_file_open__);
    use(MPI_FILE_OPEN, argv[1], called_MPI_FILE_OPEN);
    use(mpi_file_open_f08_, argv[1], called_mpi_file_open_f08_);
    MPI_Finalize();
    return 0;
}
