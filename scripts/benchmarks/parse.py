"""Parse: reading and merging 10^6 file records, against a struct.unpack loop over the same bytes.

The records are those of 100 processes with 10^4 files each: the same files, whose records are
merged, or (`_own`) every file that of one process alone, which makes a table of 10^6 files.
"""

import os
import statistics
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy  # noqa: F401 - its import is no part of what is measured
from bench import note, report, workspace

from iez_client.parse.table import read_table
from iez_common._core import ffi, lib

PROCESSES = 100
FILES = 10_000
ROUNDS = 5
SUMS = 4 + 1 + 2 + 32  # last fields of a record: layer_bytes, read_bytes, writes, reads, sizes
HEADER_BYTES: int = ffi.sizeof("struct iez_trace_header")


def write_traces(folder: Path, shared: bool) -> None:
    folder.mkdir()
    for rank in range(PROCESSES):
        header = ffi.new("struct iez_trace_header *")
        header.magic, header.version = lib.IEZ_TRACE_MAGIC, lib.IEZ_TRACE_VERSION
        header.header_bytes, header.start_ns, header.run = HEADER_BYTES, 1, 1
        header.world_rank, header.world_size, header.pid = rank, PROCESSES, 1000 + rank
        header.host = b"node1"
        data = bytearray(ffi.buffer(header))
        for number in range(1, FILES + 1):
            data += file_block(number, 0 if shared else rank, rank)
        (folder / f"node1.{1000 + rank}.0.trace").write_bytes(data)


def file_block(number: int, folder: int, rank: int) -> bytes:
    path = f"/lustre/project/run7/step_{folder:04d}/part_{number:06d}.h5".encode()
    file = ffi.new("struct iez_trace_file *")
    length = ffi.sizeof("struct iez_trace_file") + len(path) + 1
    file.block.kind = lib.IEZ_BLOCK_FILE
    file.block.cells = -(-length // lib.IEZ_TRACE_CELL)
    file.number, file.path_bytes, file.opens, file.apis = number, len(path), 1, 1
    file.flags = lib.IEZ_FILE_WRITE | (lib.IEZ_FILE_CREATED if rank == folder else 0)
    file.opened_ns, file.size_bytes = 10**18 + number, 1 << 20
    counts = file.counts
    counts.writes, counts.layer_bytes[0], counts.write_end = 256, 1 << 20, 1 << 20
    counts.first_write_ns, counts.last_write_ns = 10**18 + number, 10**18 + 2 * number
    counts.sizes[12] = 256
    block = bytes(ffi.buffer(file)) + path
    return block + bytes(-len(block) % lib.IEZ_TRACE_CELL)


def struct_format(c_type: str) -> str:
    """The struct module's format of a C struct, all fields one by one."""
    codes = {1: "B", 2: "H", 4: "I", 8: "Q"}

    def formats(kind: object) -> str:
        if kind.kind == "struct":
            return "".join(formats(field.type) for _, field in kind.fields)
        if kind.kind == "array":
            return formats(kind.item) * kind.length
        code = codes[ffi.sizeof(kind)]
        return code.lower() if int(ffi.cast(kind, -1)) < 0 else code

    return "<" + formats(ffi.typeof(c_type))


def prefix_of(text: str, size: int) -> str:
    """The part of a format that takes `size` bytes."""
    return next(text[:n] for n in range(len(text)) if struct.calcsize(text[:n]) == size)


def struct_loop(folder: Path) -> int:
    """The same in plain Python, as one would write it: unpack each record, add it to its file's.

    No ranks, times, renames or helper files, and nothing is checked.
    """
    record = struct.Struct(struct_format("struct iez_trace_file"))
    assert record.size == ffi.sizeof("struct iez_trace_file")
    before = ffi.offsetof("struct iez_trace_file", "path_bytes")
    path_bytes = len(struct.unpack(prefix_of(record.format, before), bytes(before)))
    files: dict[bytes, list[int]] = {}
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        at = HEADER_BYTES
        while at < len(data):
            fields = record.unpack_from(data, at)
            name = data[at + record.size : at + record.size + fields[path_bytes]]
            own = files.get(name)
            if own is None:
                files[name] = list(fields)
            else:
                own[-SUMS:] = [a + b for a, b in zip(own[-SUMS:], fields[-SUMS:], strict=True)]
            at += fields[1] * lib.IEZ_TRACE_CELL
    return len(files)


def unpack_only(folder: Path) -> int:
    """Only the unpacking: the records are thrown away."""
    record = struct.Struct(struct_format("struct iez_trace_file"))
    count = 0
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        at = HEADER_BYTES
        while at < len(data):
            fields = record.unpack_from(data, at)
            at += fields[1] * lib.IEZ_TRACE_CELL
            count += 1
    return count


def ours(folder: Path) -> int:
    return len(read_table(folder))


def cpu_s(work: Callable[[Path], int], folder: Path, expected: int) -> float:
    """In a process of its own, as the command is: the memory that others gave back is not its."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        before = time.process_time()
        good = work(folder) == expected
        taken = time.process_time() - before
        os.write(send, repr(taken if good else -1.0).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as file:
        taken = float(file.read())
    os.waitpid(child, 0)
    assert taken >= 0, "the number of files is wrong"
    return taken


def measure(folder: Path, shared: bool) -> None:
    note(f"writing {PROCESSES} trace files, {folder.name}")
    write_traces(folder, shared)
    files = FILES if shared else PROCESSES * FILES
    cpu_s(ours, folder, files)  # the machine's first use of so much memory is not counted
    note("reading them in turns")
    own, loop, bare = [], [], []
    for _ in range(ROUNDS):
        own.append(cpu_s(ours, folder, files))
        loop.append(cpu_s(struct_loop, folder, files))
        bare.append(cpu_s(unpack_only, folder, PROCESSES * FILES))
    own_s = statistics.median(own)
    end = "" if shared else "_own"
    report(f"parse.vs_struct_loop{end}", statistics.median(loop) / own_s, "times")
    report(f"parse.vs_unpack_only{end}", statistics.median(bare) / own_s, "times")
    report(f"parse.records_per_s{end}", PROCESSES * FILES / own_s, "1/s")


def main() -> None:
    with workspace() as work:
        measure(work / "shared", shared=True)
        measure(work / "own", shared=False)


if __name__ == "__main__":
    main()
