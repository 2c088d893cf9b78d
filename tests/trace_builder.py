"""Builds trace files from the C structs, as the library in a job's process would leave them."""

from dataclasses import dataclass, field
from pathlib import Path

from iez_common._core import ffi, lib

CELL: int = lib.IEZ_TRACE_CELL
START_NS = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


def pad(data: bytes, unit: int = CELL) -> bytes:
    return data + bytes(-len(data) % unit)


def counts(**values: object) -> "ffi.CData":
    """struct iez_trace_counts; `sizes` and `layer_bytes` are given as {index: count}."""
    made = ffi.new("struct iez_trace_counts *")
    for name, value in values.items():
        if isinstance(value, dict):
            for index, number in value.items():
                getattr(made, name)[index] = number
        else:
            setattr(made, name, value)
    return made


def written(total: int, size: int = 4096, api: int = lib.IEZ_POSIX, at_s: float = 1) -> "ffi.CData":
    """Counts of `total` bytes written in steps of `size`, all at `at_s` seconds."""
    at_ns = START_NS + int(at_s * SECOND)
    times = -(-total // size)
    return counts(
        owner=1, write_end=total, first_write_ns=at_ns, last_write_ns=at_ns, writes=times,
        layer_bytes={api: total}, sizes={size.bit_length() - 1: times},
    )  # fmt: skip


@dataclass
class Trace:
    """One process."""

    rank: int = -1
    world_size: int = 0
    pid: int = 100
    run: int = 7
    start_s: float = 0
    host: str = "node1"
    program: str = "app"
    comm_rank: int = -1
    header: dict[str, int] = field(default_factory=dict)
    blocks: list[bytes] = field(default_factory=list)
    numbers: int = 0

    def file(
        self,
        path: str | bytes,
        own: "ffi.CData | None" = None,
        layout: bytes = b"",
        opens: int = 1,
        opened_s: float = 0,
        ended_s: float = 0,
        **values: int,
    ) -> int:
        """Adds a file block; gives the file's number."""
        name = path.encode() if isinstance(path, str) else path
        self.numbers += 1
        block = ffi.new("struct iez_trace_file *")
        block.size_bytes = lib.IEZ_SIZE_UNKNOWN
        block.comm_rank = -1
        block.opens = opens
        block.opened_ns = START_NS + int(opened_s * SECOND)
        block.ended_ns = START_NS + int(ended_s * SECOND) if ended_s else 0
        block.apis = 1
        for key, value in values.items():
            setattr(block, key, value)
        if own is not None:
            block.counts = own[0]
        block.number = self.numbers
        block.path_bytes = len(name)
        block.layout_bytes = len(layout)
        tail = pad(name + b"\0", 8) + layout
        self._add(block, lib.IEZ_BLOCK_FILE, tail)
        return self.numbers

    def more(self, number: int, own: "ffi.CData") -> None:
        block = ffi.new("struct iez_trace_more *")
        block.file = number
        block.counts = own[0]
        self._add(block, lib.IEZ_BLOCK_COUNTS)

    def name(self, number: int, name: str | bytes) -> None:
        text = name.encode() if isinstance(name, str) else name
        block = ffi.new("struct iez_trace_name *")
        block.file = number
        block.bytes = len(text)
        self._add(block, lib.IEZ_BLOCK_NAME, text + b"\0")

    def renamed(
        self, old: str, new: str, ended_s: float, own: "ffi.CData | None" = None, **values: int
    ) -> int:
        """A file that this process renamed."""
        flags = values.pop("flags", 0) | lib.IEZ_FILE_RENAMED
        number = self.file(old, own, ended_s=ended_s, flags=flags, **values)
        self.name(number, new)
        return number

    def events(self, events: list[tuple[int, ...]], room: int = 0) -> None:
        """An events block: (start_ns, offset, duration_ns, length, file, thread, api) each."""
        block = ffi.new("struct iez_trace_events *")
        block.used = len(events)
        array = ffi.new("struct iez_trace_event[]", [list(each) for each in events])
        tail = bytes(ffi.buffer(array)) if events else b""
        self._add(block, lib.IEZ_BLOCK_EVENTS, tail + bytes(room * CELL))

    def other(self, kind: int, cells: int) -> None:
        """A block of a kind that is not known."""
        block = ffi.new("struct iez_block *")
        self._add(block, kind, b"\xa5" * (cells * CELL - 8))

    def zeros(self, cells: int) -> None:
        self.blocks.append(bytes(cells * CELL))

    def _add(self, block: "ffi.CData", kind: int, tail: bytes = b"") -> None:
        base = ffi.cast("struct iez_block *", block)
        length = len(ffi.buffer(block)) + len(tail)
        base.kind = kind
        base.cells = -(-length // CELL)
        self.blocks.append(pad(bytes(ffi.buffer(block)) + tail))

    def head(self) -> bytes:
        header = ffi.new("struct iez_trace_header *")
        header.magic = lib.IEZ_TRACE_MAGIC
        header.version = lib.IEZ_TRACE_VERSION
        header.header_bytes = ffi.sizeof("struct iez_trace_header")
        header.run = self.run
        header.start_ns = START_NS + int(self.start_s * SECOND)
        header.start_ticks_ns = 5 * SECOND
        header.pid = self.pid
        header.world_rank = self.rank
        header.world_size = self.world_size
        header.comm_rank = self.comm_rank
        header.host = self.host.encode()
        header.program = self.program.encode()
        for key, value in self.header.items():
            setattr(header, key, value)
        return bytes(ffi.buffer(header))

    def data(self) -> bytes:
        return self.head() + b"".join(self.blocks)

    def write(self, folder: Path, name: str = "") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (name or f"{self.host}.{self.pid}.{max(self.rank, 0)}.trace")
        path.write_bytes(self.data())
        return path
