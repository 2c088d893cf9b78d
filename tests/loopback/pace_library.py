"""The work of an OST, csrc/loopfs/pace.h compiled and called, with a clock of the test's own."""

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cffi import FFI
from choose_library import COMPILE, SOURCES

MICROSECOND_NS = 1000
RATE = 10**6  # a byte takes a microsecond


def compile_pace(target: Path) -> Path:
    fuse = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=True
    )
    words = [*COMPILE, "-shared", "-fPIC", SOURCES / "pace.c", *fuse.stdout.split(), "-lpthread"]
    subprocess.run([*words, "-o", target], check=True)
    return target


@cache
def declarations() -> FFI:
    """The header itself, without its preprocessor lines and what Python need not know."""
    ffi = FFI()
    lines = (SOURCES / "pace.h").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    ffi.cdef("typedef struct fuse_req *fuse_req_t;" + text.replace("_Atomic ", ""))
    return ffi


@dataclass(frozen=True, slots=True)
class Work:
    """What became of a piece of work."""

    service_ns: int
    done_ns: int
    due_ns: int


class Buckets:
    """Some, of which the work of each call passes through all: an OST, and its server."""

    def __init__(self, library: Path, *limits: tuple[int, int]) -> None:
        """Rates and windows."""
        self.ffi = declarations()
        self.code = self.ffi.dlopen(str(library))
        self.each = [self.ffi.new("struct loop_bucket *") for _ in limits]
        for number, (rate, window_bytes) in enumerate(limits):
            self.set(rate, window_bytes, 0, number)

    def add(self, bytes_: int, now_ns: int, own_ns: int = 0) -> Work:
        """`own_ns`: how long the work took the daemon itself."""
        work = self.ffi.new("struct loop_work *", {"service_ns": own_ns})
        for bucket in self.each:
            self.code.loop_bucket_add(bucket, bytes_, now_ns, work)
        return Work(work.service_ns, work.done_ns, work.due_ns)

    def set(self, rate: int, window_bytes: int, now_ns: int, number: int = 0) -> None:
        self.code.loop_bucket_set(self.each[number], rate, window_bytes, now_ns)

    @property
    def idle_ns(self) -> int:
        """When the first has nothing left to do."""
        return int(self.code.loop_bucket_idle_ns(self.each[0]))
