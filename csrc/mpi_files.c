#include "mpi_files.h"

#include <stddef.h>

#include "process.h"

#define GIVEN_BACK 1

static size_t place_of(uintptr_t handle, size_t try) {
    return (handle / 16 + handle + try) % IEZ_MPI_FILES;
}

static struct iez_mpi_file *find(uintptr_t handle) {
    for (size_t try = 0; try < IEZ_MPI_FILES; try++) {
        struct iez_mpi_file *entry = &iez_process->mpi_files[place_of(handle, try)];
        uintptr_t held = atomic_load(&entry->handle);
        if (held == handle)
            return entry;
        if (held == 0)
            return NULL;
    }
    return NULL;
}

void iez_mpi_file_opened(uintptr_t handle, struct iez_trace_file *file) {
    if (!file || handle <= GIVEN_BACK)
        return;
    iez_process_start();
    iez_mpi_file_closed(handle); /* by a call that no hook saw */
    for (size_t try = 0; try < IEZ_MPI_FILES; try++) {
        struct iez_mpi_file *entry = &iez_process->mpi_files[place_of(handle, try)];
        uintptr_t held = atomic_load(&entry->handle);
        if (held <= GIVEN_BACK && atomic_compare_exchange_strong(&entry->handle, &held, handle)) {
            atomic_store(&entry->file, file);
            return;
        }
    }
}

void iez_mpi_file_closed(uintptr_t handle) {
    struct iez_mpi_file *entry = find(handle);
    if (!entry)
        return;
    atomic_store(&entry->file, NULL);
    atomic_store(&entry->handle, GIVEN_BACK);
}

struct iez_trace_file *iez_mpi_file(uintptr_t handle) {
    struct iez_mpi_file *entry = find(handle);
    return entry ? atomic_load(&entry->file) : NULL;
}
