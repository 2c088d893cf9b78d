! MPI-IO from Fortran with the module mpi_f08, also without the optional error argument.
program mpiio_f08
  use mpi_f08
  implicit none
  integer, parameter :: part = 1024
  integer :: rank, ranks, ierror, values(part)
  integer(kind=MPI_OFFSET_KIND) :: offset
  type(MPI_File) :: file
  character(len=4096) :: path

  call get_command_argument(1, path)
  call mpi_init()
  call mpi_comm_rank(MPI_COMM_WORLD, rank)
  call mpi_comm_size(MPI_COMM_WORLD, ranks)
  values = rank
  offset = int(rank, MPI_OFFSET_KIND) * part * 4
  call mpi_file_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_WRONLY, &
                     MPI_INFO_NULL, file)
  call mpi_file_write_at_all(file, offset, values, part, MPI_INTEGER, MPI_STATUS_IGNORE)
  call mpi_file_close(file)
  call mpi_file_open(MPI_COMM_WORLD, trim(path), MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
  if (rank == 0) print '(a,i0,a,i0)', 'ranks ', ranks, ' error ', ierror
  call mpi_file_close(file, ierror)
  call mpi_finalize()
end program mpiio_f08
