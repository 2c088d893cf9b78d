#include "trace_merge.h"

#include <string.h>

#include "trace_table.h"

#define KIND_MASK  0xffff0000
#define KIND_PLACE (IEZ_BLOCK_FILE & KIND_MASK)
#define ENDED      (IEZ_FILE_RENAMED | IEZ_FILE_UNLINKED)

static uint64_t least_bytes(uint32_t kind) {
    switch (kind) {
    case IEZ_BLOCK_FILE:
        return sizeof(struct iez_trace_file);
    case IEZ_BLOCK_COUNTS:
        return sizeof(struct iez_trace_more);
    case IEZ_BLOCK_NAME:
        return sizeof(struct iez_trace_name);
    default:
        return sizeof(struct iez_block);
    }
}

/* Whether a block is used here: then it must be whole, and it is never large. */
static int is_used(uint32_t kind) {
    return kind == IEZ_BLOCK_FILE || kind == IEZ_BLOCK_COUNTS || kind == IEZ_BLOCK_NAME;
}

/* The size of the block, or 0 for a word that begins none. Kinds of later versions are passed over
 * by their size. */
static uint64_t block_bytes(const struct iez_block *block) {
    uint64_t bytes = (uint64_t)block->cells * IEZ_TRACE_CELL;
    if ((block->kind & KIND_MASK) != KIND_PLACE)
        return 0;
    if (bytes < least_bytes(block->kind) || (is_used(block->kind) && bytes > IEZ_MERGE_BLOCK_MAX))
        return 0;
    return bytes;
}

uint64_t iez_trace_next(const void *data, uint64_t bytes, uint64_t at, uint32_t kind) {
    while (at <= bytes && bytes - at >= IEZ_TRACE_CELL) {
        struct iez_block block;
        memcpy(&block, (const char *)data + at, sizeof block);
        uint64_t length = block_bytes(&block);
        int whole = length != 0 && length <= bytes - at;
        if (whole && (kind == 0 || block.kind == kind))
            return at;
        at += whole ? length : IEZ_TRACE_CELL;
    }
    return bytes;
}

/* Cells that were taken and not filled, or those of a block that was not finished. */
static uint64_t unfinished_bytes(const struct iez_block *block) {
    uint64_t bytes = (uint64_t)block->cells * IEZ_TRACE_CELL;
    return bytes != 0 && bytes <= IEZ_MERGE_BLOCK_MAX ? bytes : IEZ_TRACE_CELL;
}

static void add_writer(struct iez_merge *merge, struct iez_row *row) {
    if (merge->rank >= 0) {
        uint32_t rank = (uint32_t)merge->rank;
        iez_table_add_rank(merge, &row->writers, rank, rank);
    } else if (row->last_writer != merge->process) {
        row->last_writer = merge->process;
        row->lone_writers++;
    }
}

static void add_counts(struct iez_merge *merge, uint32_t number,
                       const struct iez_trace_counts *counts) {
    struct iez_row *row = &merge->rows[number];
    uint64_t wrote = counts->writes;
    for (int i = 0; i < IEZ_APIS; i++) {
        row->layer_bytes[i] += counts->layer_bytes[i];
        wrote |= counts->layer_bytes[i];
    }
    row->read_bytes += counts->read_bytes;
    row->reads += counts->reads;
    if (!wrote)
        return;
    row->write_end = iez_max(row->write_end, counts->write_end);
    row->first_write_ns = iez_first(row->first_write_ns, counts->first_write_ns);
    row->last_write_ns = iez_max(row->last_write_ns, counts->last_write_ns);
    row->writes += counts->writes;
    for (uint32_t i = 0; i < IEZ_SIZE_BUCKETS; i++)
        if (counts->sizes[i])
            iez_table_add_size(merge, row, i, counts->sizes[i]);
    add_writer(merge, row);
}

static void add_layout(struct iez_merge *merge, struct iez_row *row,
                       const struct iez_trace_file *file, const void *layout) {
    /* That of the newest create; another process's record of the same create is no news. */
    if (row->layout_bytes == file->layout_bytes &&
        memcmp(merge->texts + row->layout_at, layout, file->layout_bytes) == 0)
        return;
    uint64_t at = row->layout_at;
    if (file->layout_bytes <= row->layout_bytes) {
        memcpy(merge->texts + at, layout, file->layout_bytes);
    } else {
        at = iez_table_text(merge, layout, file->layout_bytes);
        if (merge->out_of_memory)
            return;
    }
    row->layout_at = at;
    row->layout_bytes = file->layout_bytes;
}

static void add_file(struct iez_merge *merge, uint32_t number, const struct iez_trace_file *file) {
    struct iez_row *row = &merge->rows[number];
    uint64_t seen_ns = iez_max(file->opened_ns, file->counts.last_write_ns);
    row->flags |= file->flags;
    row->opened_ns = iez_first(row->opened_ns, file->opened_ns);
    row->reopened_ns = iez_max(row->reopened_ns, file->opened_ns);
    row->ended_ns = iez_max(row->ended_ns, file->ended_ns);
    row->set_bytes = iez_max(row->set_bytes, file->set_bytes);
    row->opens += file->opens;
    row->creates += file->creates;
    row->apis |= file->apis;
    row->records++;
    if (file->size_bytes != IEZ_SIZE_UNKNOWN && seen_ns >= row->size_ns) {
        row->size_bytes = file->size_bytes;
        row->size_ns = seen_ns;
    }
    if ((file->flags & IEZ_FILE_CREATED) && file->opened_ns >= row->created_ns) {
        row->created_ns = file->opened_ns;
        row->created_rank = merge->rank;
    }
    if (file->outcome && (row->outcome == 0 || (file->flags & IEZ_FILE_CREATED)))
        row->outcome = file->outcome;
    if (file->stripe_count)
        row->stripe_count = file->stripe_count;
    if (file->comm_size) {
        if (file->comm_size > row->comm_size)
            row->comm_size = file->comm_size;
        if (merge->rank >= 0)
            iez_table_add_rank(merge, &row->mpi_openers, (uint32_t)merge->rank,
                               (uint32_t)merge->rank);
    }
    add_counts(merge, number, &file->counts);
}

static void note_number(struct iez_merge *merge, uint32_t number, uint32_t row) {
    /* No file can hold more files than cells: a larger number is nonsense. */
    if (number == 0 || number > merge->file_bytes / IEZ_TRACE_CELL ||
        !iez_table_grow(merge, &merge->row_of, &merge->row_of_room, (uint64_t)number + 1,
                        sizeof *merge->row_of))
        return;
    for (; merge->row_of_used <= number; merge->row_of_used++)
        merge->row_of[merge->row_of_used] = 0;
    merge->row_of[number] = row + 1;
}

static uint32_t row_of_number(const struct iez_merge *merge, uint32_t number) {
    return number < merge->row_of_used ? merge->row_of[number] - 1 : IEZ_NO_ROW;
}

static int is_text(const char *text, uint64_t bytes, uint64_t room) {
    return bytes != 0 && bytes < room && text[0] == '/' && text[bytes] == 0 &&
           memchr(text, 0, bytes) == NULL;
}

static int was_laid_out(const struct iez_trace_file *file) {
    return file->outcome == IEZ_PLACED + 1 || file->outcome == IEZ_SHARED + 1;
}

static int take_file(struct iez_merge *merge, const struct iez_trace_file *file, uint64_t bytes) {
    const char *path = (const char *)(file + 1);
    uint64_t layout_at = (sizeof *file + file->path_bytes + 1 + 7) & ~(uint64_t)7;
    if (!is_text(path, file->path_bytes, bytes - sizeof *file))
        return 0;
    if (file->layout_bytes && (layout_at > bytes || file->layout_bytes > bytes - layout_at))
        return 0;
    uint32_t row = iez_table_row(merge, path, file->path_bytes, (file->flags & ENDED) != 0);
    if (row == IEZ_NO_ROW)
        return 1;
    merge->part.files++;
    note_number(merge, file->number, row);
    add_file(merge, row, file);
    if (file->layout_bytes && was_laid_out(file))
        add_layout(merge, &merge->rows[row], file, (const char *)file + layout_at);
    return 1;
}

static int take_counts(struct iez_merge *merge, const struct iez_trace_more *more) {
    uint32_t row = row_of_number(merge, more->file);
    if (row != IEZ_NO_ROW) {
        add_counts(merge, row, &more->counts);
        return 1;
    }
    if (iez_table_grow(merge, &merge->early, &merge->early_room, merge->early_count + 1,
                       sizeof *merge->early))
        merge->early[merge->early_count++] = (struct iez_early){more->file, more->counts};
    return 1;
}

static int take_name(struct iez_merge *merge, const struct iez_trace_name *name, uint64_t bytes) {
    const char *text = (const char *)(name + 1);
    if (!is_text(text, name->bytes, bytes - sizeof *name))
        return 0;
    uint32_t row = row_of_number(merge, name->file);
    if (row != IEZ_NO_ROW &&
        (merge->rows[row].flags & (IEZ_FILE_LINKED | IEZ_FILE_RENAMED)) == IEZ_FILE_LINKED)
        return 1;
    if (row == IEZ_NO_ROW || !(merge->rows[row].flags & IEZ_FILE_RENAMED)) {
        merge->part.lost_blocks++;
        return 1;
    }
    uint64_t at = iez_table_text(merge, text, name->bytes);
    if (!merge->out_of_memory) {
        merge->rows[row].name_at = at;
        merge->rows[row].name_bytes = name->bytes;
    }
    return 1;
}

static void count_events(struct iez_merge *merge, const struct iez_block *block) {
    if (block->kind == IEZ_BLOCK_EVENTS) {
        uint32_t used = ((const struct iez_trace_events *)block)->used;
        merge->part.events += used < block->cells ? used : block->cells - 1;
        merge->part.damaged_cells += used >= block->cells;
    } else if (block->kind == IEZ_BLOCK_PACKED) {
        merge->part.events += ((const struct iez_trace_packed *)block)->events;
    }
}

static int take(struct iez_merge *merge, const struct iez_block *block, uint64_t bytes) {
    switch (block->kind) {
    case IEZ_BLOCK_FILE:
        return take_file(merge, (const struct iez_trace_file *)block, bytes);
    case IEZ_BLOCK_COUNTS:
        return take_counts(merge, (const struct iez_trace_more *)block);
    case IEZ_BLOCK_NAME:
        return take_name(merge, (const struct iez_trace_name *)block, bytes);
    default:
        count_events(merge, block);
        return 1;
    }
}

void iez_merge_begin(struct iez_merge *merge, int32_t rank, uint32_t process, uint64_t position,
                     uint64_t file_bytes) {
    merge->rank = rank;
    merge->process = process;
    merge->position = position;
    merge->file_bytes = file_bytes;
    merge->row_of_used = 0;
    merge->early_count = 0;
    merge->part = (struct iez_part){0};
}

/* The path of a file block is looked for in a large table: that can begin while the block before
 * it is merged. */
static void look_ahead(struct iez_merge *merge, const char *data, uint64_t at, uint64_t bytes) {
    const struct iez_trace_file *file = (const void *)(data + at);
    merge->this_path = merge->next_path;
    merge->next_path.path = NULL;
    if (at <= bytes && bytes - at > sizeof *file && file->block.kind == IEZ_BLOCK_FILE &&
        file->path_bytes < bytes - at - sizeof *file)
        iez_table_ahead(merge, (const char *)(file + 1), file->path_bytes);
}

uint64_t iez_merge_feed(struct iez_merge *merge, const void *data, uint64_t bytes) {
    uint64_t at = 0;
    merge->next_path.path = NULL; /* the same place may hold other bytes now */
    while (at + IEZ_TRACE_CELL <= bytes && !merge->out_of_memory) {
        const struct iez_block *block = (const void *)((const char *)data + at);
        uint64_t length = block->kind ? block_bytes(block) : unfinished_bytes(block);
        int fits = merge->position + at + length <= merge->file_bytes;
        if (length && !fits)
            merge->part.truncated = 1;
        if (fits && is_used(block->kind) && length > bytes - at)
            break;
        look_ahead(merge, data, at + length, bytes);
        if (length == 0 || !fits || (block->kind && !take(merge, block, length))) {
            merge->part.damaged_cells++;
            length = IEZ_TRACE_CELL;
        }
        at += length;
    }
    merge->position += at;
    return at;
}

void iez_merge_end(struct iez_merge *merge, int whole) {
    for (uint64_t i = 0; i < merge->early_count; i++) {
        uint32_t row = row_of_number(merge, merge->early[i].file);
        if (row != IEZ_NO_ROW)
            add_counts(merge, row, &merge->early[i].counts);
        else
            merge->part.lost_blocks++;
    }
    merge->early_count = 0;
    if (!whole || merge->file_bytes % IEZ_TRACE_CELL)
        merge->part.truncated = 1;
}

static void join_ranks(struct iez_merge *merge, struct iez_ranks *into, uint32_t at) {
    while (at) {
        struct iez_span span = merge->spans[at];
        iez_table_add_rank(merge, into, span.low, span.high);
        at = span.next;
    }
}

void iez_merge_join(struct iez_merge *merge, uint32_t into_row, uint32_t from_row) {
    struct iez_row *into = &merge->rows[into_row];
    const struct iez_row *from = &merge->rows[from_row];
    join_ranks(merge, &into->writers, from->writers.first);
    join_ranks(merge, &into->mpi_openers, from->mpi_openers.first);
    into->flags |= from->flags;
    into->opened_ns = iez_first(into->opened_ns, from->opened_ns);
    into->reopened_ns = iez_max(into->reopened_ns, from->reopened_ns);
    into->ended_ns = iez_max(into->ended_ns, from->ended_ns);
    if (from->size_bytes != IEZ_SIZE_UNKNOWN &&
        (into->size_bytes == IEZ_SIZE_UNKNOWN || from->size_ns >= into->size_ns)) {
        into->size_bytes = from->size_bytes;
        into->size_ns = from->size_ns;
    }
    if ((from->flags & IEZ_FILE_CREATED) && from->created_ns >= into->created_ns) {
        into->created_ns = from->created_ns;
        into->created_rank = from->created_rank;
    }
    if (from->layout_bytes && (into->layout_bytes == 0 || from->size_ns >= into->size_ns)) {
        into->layout_at = from->layout_at;
        into->layout_bytes = from->layout_bytes;
        into->stripe_count = from->stripe_count;
    }
    into->set_bytes = iez_max(into->set_bytes, from->set_bytes);
    into->opens += from->opens;
    into->creates += from->creates;
    if (from->comm_size > into->comm_size)
        into->comm_size = from->comm_size;
    if (from->lone_writers && from->last_writer != into->last_writer) {
        into->lone_writers += from->lone_writers;
        into->last_writer = from->last_writer;
    }
    into->records += from->records;
    into->apis |= from->apis;
    if (from->outcome && into->outcome == 0)
        into->outcome = from->outcome;
    into->write_end = iez_max(into->write_end, from->write_end);
    into->first_write_ns = iez_first(into->first_write_ns, from->first_write_ns);
    into->last_write_ns = iez_max(into->last_write_ns, from->last_write_ns);
    for (int i = 0; i < IEZ_APIS; i++)
        into->layer_bytes[i] += from->layer_bytes[i];
    into->read_bytes += from->read_bytes;
    into->writes += from->writes;
    into->reads += from->reads;
    for (int i = 0; i < 4; i++)
        if (from->size_counts[i])
            iez_table_add_size(merge, into, from->size_buckets[i], from->size_counts[i]);
    for (uint32_t i = 0; from->wide && i < IEZ_SIZE_BUCKETS; i++)
        if (merge->wide[from->wide].sizes[i])
            iez_table_add_size(merge, into, i, merge->wide[from->wide].sizes[i]);
}
