"""Builds iez_common._core, the cffi module over the same C core as the preloaded library.

The declarations are the headers' own text, between the marks `cffi: begin` and `cffi: end`:
nothing about a file format is said twice.
"""

import re
from pathlib import Path

from cffi import FFI

CSRC = Path(__file__).resolve().parent.parent / "csrc"
HEADERS = [
    "lustre.h", "plan_format.h", "trace_format.h", "layout.h", "plan.h",
    "plan_build.h", "trace_merge.h", "allocate.h",
]  # fmt: skip
SOURCES = [
    "layout.c", "plan.c", "template.c", "plan_build.c", "trace_table.c", "trace_merge.c",
    "allocate_order.c", "allocate_bound.c", "allocate_place.c", "allocate_fit.c",
    "allocate_polish.c",
]  # fmt: skip


def declarations(header: str) -> str:
    """The parts of a header that cffi reads, without comments."""
    text = (CSRC / header).read_text()
    parts = re.findall(r"/\* cffi: begin \*/(.*?)/\* cffi: end \*/", text, flags=re.DOTALL)
    return re.sub(r"/\*.*?\*/", "", "\n".join(parts), flags=re.DOTALL)


ffibuilder = FFI()
ffibuilder.cdef("\n".join(declarations(header) for header in HEADERS))
ffibuilder.set_source(
    "iez_common._core",
    "\n".join(f'#include "{header}"' for header in HEADERS),
    sources=[f"csrc/{source}" for source in SOURCES],
    include_dirs=["csrc"],
    extra_compile_args=[
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O2",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
    ],
)
