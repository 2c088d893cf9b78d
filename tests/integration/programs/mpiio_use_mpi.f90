! MPI-IO from Fortran with the module mpi: every rank writes its part of one shared file.
program mpiio_use_mpi
  use mpi
  implicit none
  integer, parameter :: part = 1024
  integer :: rank, ranks, file, ierror, values(part)
  integer(kind=MPI_OFFSET_KIND) :: offset
  character(len=4096) :: path

  call get_command_argument(1, path)
  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierror)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, ierror)
  values = rank
  offset = int(rank, MPI_OFFSET_KIND) * part * 4
  call mpi_file_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_WRONLY, &
                     MPI_INFO_NULL, file, ierror)
  if (ierror /= MPI_SUCCESS) call mpi_abort(MPI_COMM_WORLD, 1, ierror)
  call mpi_file_write_at_all(file, offset, values, part, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call mpi_file_close(file, ierror)
  if (rank == 0) print '(a,i0,a,i0)', 'ranks ', ranks, ' error ', ierror
  call mpi_finalize(ierror)
end program mpiio_use_mpi
