/* The plan file: the library's only input, written by iez_client/plan, mapped read-only by every
 * process of a job. docs/plan-file.md explains it. Little endian, fixed width, all offsets from
 * the start of the file unless said otherwise.
 *
 * The header is checked when a process maps the file; everything else is checked where it is used,
 * so that opening a plan of any size costs the same. The text between the cffi marks is also read
 * by iez_common/_core_build.py: this file is the only statement of the format. */
#ifndef IEZ_PLAN_FORMAT_H
#define IEZ_PLAN_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* cffi: begin */
#define IEZ_PLAN_MAGIC   0x314e414c505a4549 /* "IEZPLAN1" in memory */
#define IEZ_PLAN_VERSION 2
#define IEZ_PLAN_NONE    0xffffffff /* "no such reference" in any 32-bit reference */
#define IEZ_PLAN_BUCKET  4          /* slots of the hash table that are probed at once */
#define IEZ_PLAN_FIELDS  16         /* fields a template may have */

/* What kind of file system lies below a prefix. */
#define IEZ_KIND_NONE   0 /* not bound: nothing is placed there */
#define IEZ_KIND_LUSTRE 1
#define IEZ_KIND_LOOPBACK                                                                          \
    2                   /* takes the ioctl, keeps O_ASYNC of the delay flag on the descriptor      \
                         */
#define IEZ_KIND_MOCK 3 /* layout bytes go to the xattr user.iez.lov */

/* States of an OST; only the mock acts on them. */
#define IEZ_OST_DEGRADED 1
#define IEZ_OST_READONLY 2
#define IEZ_OST_NOCREATE 4
#define IEZ_OST_FULL     8
#define IEZ_OST_INACTIVE 16

#define IEZ_INJECT_SILENT 0xffff /* "0 but no layout"; any other value of `inject` is an errno */

/* What one edge of the template tree takes from the path; a field takes its longest run. */
#define IEZ_EDGE_LITERAL   0
#define IEZ_EDGE_NUMBER    1 /* digits */
#define IEZ_EDGE_ALNUM     2 /* letters and digits */
#define IEZ_EDGE_DIRECTORY 3 /* one whole directory name */
#define IEZ_EDGE_REST      4 /* all that is left: the default below a directory */

#define IEZ_PATTERN_RAID0        0x1
#define IEZ_PATTERN_MDT          0x100
#define IEZ_PATTERN_OVERSTRIPING 0x200

#define IEZ_EXTENT_EOF 0xffffffffffffffff

struct iez_section {
    uint64_t offset;
    uint64_t count; /* elements, not bytes; texts and layouts count bytes */
};

struct iez_plan_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t file_bytes;
    uint64_t generation;    /* nanoseconds of the clock when it was built */
    uint64_t body_checksum; /* of all bytes after the header; for `iez plan show --check` */
    uint32_t refresh_ms;    /* a process looks for a newer generation at most this often; 0 never */
    uint32_t trace_events;  /* 1: each write is recorded, not only counted */
    uint64_t run;           /* goes into the traces: one number for all processes of a run */
    struct iez_section prefixes;  /* struct iez_prefix */
    struct iez_section slots;     /* struct iez_slot: hash table of the exact paths */
    struct iez_section nodes;     /* struct iez_node: tree of the templates; node 0 is the root */
    struct iez_section choices;   /* struct iez_choice: what a template gives */
    struct iez_section options;   /* uint32_t: layout references that choices select from */
    struct iez_section osts;      /* struct iez_ost, sorted by index within a prefix */
    struct iez_section layouts;   /* struct iez_layout records, each 8-byte aligned */
    struct iez_section texts;     /* uint16_t length, the bytes, a NUL */
    struct iez_section filter;    /* uint64_t: what cannot be in `slots`; empty: no filter */
    struct iez_section trace_dir; /* bytes, a NUL last; empty: traces lie beside the plan */
    uint64_t header_checksum;     /* of all bytes before it */
};

/* A watched directory. Paths below `text` are looked up as if they were below `canonical`'s. */
struct iez_prefix {
    uint32_t text;
    uint32_t canonical; /* index of a prefix; its own for all but aliases */
    uint32_t kind;
    uint32_t first_ost;
    uint32_t ost_count;
    uint32_t inject; /* mock: the answer forced on every request, 0 none */
    uint32_t reserved[2];
};

struct iez_ost {
    uint32_t index;
    uint32_t state;
};

/* Buckets of four slots, one cache line each; a path is in the bucket (hash * buckets) >> 64 or,
 * where that is full, in the next one. The path itself is not compared: two planned paths never
 * share a hash (the builder sees to it), and an unplanned one meets a planned hash with a chance of
 * 2^-62. */
struct iez_slot {
    uint64_t hash; /* 0: empty */
    uint32_t layout;
    uint32_t text;
};

struct iez_node {
    uint32_t text; /* what a literal edge takes */
    uint8_t edge;
    uint8_t first_byte; /* of a literal; children are sorted by it, fields come last */
    uint16_t child_count;
    uint32_t first_child;
    uint32_t choice; /* the template that ends here, or IEZ_PLAN_NONE */
};

/* Option (value of field - first) mod count, where count is option_count; one option: always it. */
struct iez_choice {
    uint32_t first_option;
    uint32_t option_count;
    uint32_t field;
    uint32_t text; /* the template as the user wrote it */
    uint64_t first_value;
};

/* References to layouts are byte offsets / 8 into the section. Components follow their layout,
 * OST indices (uint16_t) follow their component; each is padded to 8 bytes. */
struct iez_layout {
    uint32_t bytes; /* of the whole record */
    uint32_t component_count;
};

struct iez_component {
    uint64_t extent_end;        /* starts where the one before ended; IEZ_EXTENT_EOF */
    uint32_t stripe_size_bytes; /* 0: the file system's default */
    uint32_t pattern;
    uint16_t stripe_count; /* 0: default; 0xffff: all */
    uint16_t ost_count;    /* length of the list that follows; 0: the MDS chooses */
    uint32_t reserved;
    char pool[16]; /* padded with NUL; empty: none asked */
};
/* cffi: end */

_Static_assert(sizeof(struct iez_plan_header) == 224, "plan header");
_Static_assert(sizeof(struct iez_prefix) == 32, "prefix");
_Static_assert(sizeof(struct iez_slot) == 16, "slot");
_Static_assert(sizeof(struct iez_node) == 16, "node");
_Static_assert(sizeof(struct iez_choice) == 24, "choice");
_Static_assert(sizeof(struct iez_layout) == 8, "layout");
_Static_assert(sizeof(struct iez_component) == 40, "component");

#endif
