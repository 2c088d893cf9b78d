/* The trace file: what one process did with the files that are watched. One file a process, mapped
 * shared, so that it survives SIGKILL; none for a process that touched no watched file. It lies in
 * the run's trace directory and is called HOST.PID.N.trace. docs/tracing.md explains it. The text
 * between the cffi marks is also read by iez_common/_core_build.py: this file is the only statement
 * of the format. Little endian, fixed width.
 *
 * A header, then blocks, each a whole number of cells and told by its first word. The process may
 * end at any moment: cells that it took and did not fill are zero, and a reader passes over them
 * one by one to the next block. */
#ifndef IEZ_TRACE_FORMAT_H
#define IEZ_TRACE_FORMAT_H

#include <stdint.h>

/* cffi: begin */
#define IEZ_TRACE_MAGIC   0x3145434152545a49 /* "IZTRACE1" in memory */
#define IEZ_TRACE_VERSION 1
#define IEZ_TRACE_CELL    32

/* Why a file did or did not get its planned layout. Each create adds one to one of these. */
enum iez_outcome {
    IEZ_PLACED,         /* created here with the planned layout */
    IEZ_SHARED,         /* another process created it and it has the planned layout */
    IEZ_MISSED,         /* below a watched prefix, but not in the plan */
    IEZ_EXISTED,        /* in the plan, but the file was there already */
    IEZ_DIFFERS,        /* has a layout, but not the planned one */
    IEZ_SILENT,         /* the MDS said yes and set nothing: the site forbids layouts */
    IEZ_READONLY_MODE,  /* asked for a mode that keeps its owner from reading or writing */
    IEZ_SYMLINK,        /* a dangling symbolic link: created through it, plainly */
    IEZ_UNSUPPORTED,    /* a call whose create cannot carry a layout (freopen "wx", ccs=) */
    IEZ_BUSY,           /* no scratch memory was free */
    IEZ_UNKNOWN_OST,    /* the plan names an OST that is not live: the library switched off */
    IEZ_REFUSED_EINVAL, /* the ioctl's errors, by name */
    IEZ_REFUSED_ENOSPC,
    IEZ_REFUSED_EROFS,
    IEZ_REFUSED_ENOBUFS,
    IEZ_REFUSED_EREMOTEIO,
    IEZ_REFUSED_EEXIST,
    IEZ_REFUSED_EACCES,
    IEZ_REFUSED_ENOTTY,
    IEZ_REFUSED_OTHER,
    IEZ_OUTCOMES
};

/* The interfaces, lowest first. POSIX and stdio are where bytes are counted: what libc writes for
 * a stream passes no hook of ours. MPI-IO and HDF5 lie above them. */
enum iez_api { IEZ_POSIX, IEZ_STDIO, IEZ_MPIIO, IEZ_HDF5, IEZ_APIS };

struct iez_trace_header {
    uint64_t magic; /* written last: a file without it is half made */
    uint32_t version;
    uint32_t header_bytes;
    uint64_t run;             /* of the plan: one for all processes of a run; 0 not known */
    uint64_t plan_generation; /* of the newest plan it used */
    uint64_t start_ns;        /* of the clock, when the file was made */
    uint64_t start_ticks_ns;  /* of the monotonic clock at that moment: events count from it */
    int32_t pid;
    int32_t world_rank;  /* as the launcher tells it; -1 none */
    int32_t world_size;  /* 0 none */
    int32_t comm_rank;   /* in the communicator of the last MPI_File_open; -1 none */
    int32_t comm_size;   /* of that communicator; 0 none */
    uint32_t collective; /* MPI_File_open calls on more than one rank */
    char host[64];
    char program[64];
    uint64_t outcomes[32];   /* by enum iez_outcome */
    uint64_t placed_by[8];   /* IEZ_PLACED by enum iez_api */
    uint64_t dropped_files;  /* opens of watched files that got no block: no room */
    uint64_t dropped_writes; /* writes that are in no counts, and their bytes */
    uint64_t dropped_bytes;
    uint64_t dropped_events;   /* writes that are in counts, but have no event */
    uint64_t private_words[3]; /* of use to the process alone */
};

/* Kinds of blocks. A block whose kind is 0 was not finished. */
#define IEZ_BLOCK_UNUSED 0x495a0000
#define IEZ_BLOCK_FILE   0x495a0001 /* struct iez_trace_file, its path, its layout */
#define IEZ_BLOCK_COUNTS 0x495a0002 /* struct iez_trace_more: counts of a further thread */
#define IEZ_BLOCK_NAME   0x495a0003 /* struct iez_trace_name: the name a rename gave to a file */
#define IEZ_BLOCK_EVENTS 0x495a0004 /* struct iez_trace_events: writes of one thread */
#define IEZ_BLOCK_PACKED 0x495a0005 /* struct iez_trace_packed: all events, compressed */

struct iez_block {
    uint32_t kind;
    uint32_t cells; /* of IEZ_TRACE_CELL bytes, this one included */
};

#define IEZ_SIZE_BUCKETS 32

/* What one thread did to one file. Sums, so that those of several threads and processes add up; a
 * thread that fills `writes` goes on in another block. */
struct iez_trace_counts {
    uint64_t owner;          /* a number for the thread in its process; 1: shared by several */
    uint64_t write_end;      /* highest offset written, plus one; 0 where no offset is known */
    uint64_t first_write_ns; /* of the clock, to a few milliseconds; 0 none */
    uint64_t last_write_ns;
    uint64_t layer_bytes[4]; /* written, by enum iez_api; the bytes of the file are [0] + [1] */
    uint64_t read_bytes;
    uint32_t writes; /* by POSIX and stdio calls that wrote something */
    uint32_t reads;
    uint32_t sizes[32]; /* writes by size: [k] those of 2^k to 2^(k+1) - 1 bytes, [31] and more */
};

/* Flags of a file. */
#define IEZ_FILE_CREATED   0x1   /* by this process */
#define IEZ_FILE_READ      0x2   /* opened for reading */
#define IEZ_FILE_WRITE     0x4   /* opened for writing */
#define IEZ_FILE_APPEND    0x8   /* with O_APPEND */
#define IEZ_FILE_EXCLUSIVE 0x10  /* with O_EXCL */
#define IEZ_FILE_DIRECT    0x20  /* with O_DIRECT */
#define IEZ_FILE_TRUNCATED 0x40  /* with O_TRUNC */
#define IEZ_FILE_RENAMED   0x80  /* by this process: ended_ns, and its last name block */
#define IEZ_FILE_UNLINKED  0x100 /* by this process: ended_ns */
#define IEZ_FILE_FOUND     0x200 /* not opened here: a descriptor that was inherited or copied */
#define IEZ_FILE_PERHAPS   0x400 /* IEZ_FILE_CREATED only says that it may have been */
#define IEZ_FILE_LINKED    0x800 /* by this process: its last name block is a second name */

#define IEZ_SIZE_UNKNOWN 0xffffffffffffffff

/* A name that this process opened, until it renames the file; what is opened under the same name
 * afterwards is another one. */
struct iez_trace_file {
    struct iez_block block;
    uint64_t private_words[3]; /* of use to the process alone */
    uint64_t opened_ns;        /* first seen */
    uint64_t ended_ns;
    uint64_t size_bytes; /* when the process that created it closed it last, or ended */
    uint64_t set_bytes;  /* largest size asked for by truncation or allocation */
    uint64_t device;     /* of the moment of size_bytes; 0 not known */
    uint64_t inode;
    uint32_t number; /* of the file in this trace, from 1 */
    uint32_t flags;  /* IEZ_FILE_* */
    uint32_t opens;
    uint32_t creates;
    int32_t comm_rank;     /* of the last MPI_File_open of it; -1 none */
    uint32_t comm_size;    /* 0 none */
    uint16_t stripe_count; /* planned and set; 0 none */
    uint16_t layout_bytes; /* of the plan's record (struct iez_layout) for it; 0 none. It was set
                            * if the outcome is placed or shared. */
    uint16_t path_bytes;
    uint8_t apis;    /* bit of enum iez_api: those seen */
    uint8_t outcome; /* of its last create, plus one; 0 none */
    struct iez_trace_counts counts;
    /* The path and a NUL; then, at the next multiple of 8 bytes, the layout. */
};

struct iez_trace_more {
    struct iez_block block;
    uint32_t file; /* number */
    uint32_t reserved;
    uint64_t next; /* of use to the process alone */
    struct iez_trace_counts counts;
    uint64_t padding[3];
};

struct iez_trace_name {
    struct iez_block block;
    uint32_t file; /* number */
    uint32_t bytes;
    /* the name, absolute, and a NUL */
};

struct iez_trace_event {
    uint64_t start_ns; /* since start_ticks_ns of the header */
    uint64_t offset;   /* IEZ_SIZE_UNKNOWN where it is not known */
    uint32_t duration_ns;
    uint32_t length; /* what was written; a call of 4 GiB and more makes several events */
    uint32_t file;   /* number */
    uint16_t thread; /* of the process, from 0 */
    uint16_t api;    /* enum iez_api the call came through */
};

struct iez_trace_events {
    struct iez_block block;
    uint32_t used; /* events that are whole; they follow */
    uint32_t reserved[5];
};

struct iez_trace_packed {
    struct iez_block block;
    uint64_t events;
    uint64_t bytes;    /* of the compressed data, which follows */
    uint64_t reserved; /* docs/tracing.md tells what is in the data */
};
/* cffi: end */

_Static_assert(sizeof(struct iez_trace_header) == 576, "trace header");
_Static_assert(sizeof(struct iez_trace_header) % IEZ_TRACE_CELL == 0, "blocks begin at a cell");
_Static_assert(IEZ_OUTCOMES <= 32 && IEZ_APIS <= 4, "room for the counters");
_Static_assert(sizeof(struct iez_trace_counts) == 208, "counts");
_Static_assert(sizeof(struct iez_trace_file) == 320, "file block");
_Static_assert(sizeof(struct iez_trace_more) == 256, "counts block");
_Static_assert(sizeof(struct iez_trace_event) == 32, "event");
_Static_assert(sizeof(struct iez_trace_events) == 32, "events block");
_Static_assert(sizeof(struct iez_trace_packed) == 32, "packed block");

#endif
