"""Builds what csrc/ holds: the preloaded library, the cffi module over its core, and, where there
is libfuse3, the daemon of the loopback file system.

The preloaded library must be plain C: a Python extension that is preloaded kills every program
that binds its symbols at start (docs/shim.md). So it is an Extension only by name: it is compiled
without Python's headers and flags, and linked to libc alone.
"""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# After setuptools, which brings the distutils that Python 3.12 lacks.
from distutils.command.build_scripts import build_scripts  # isort: skip

SHIM = "iez_client.libiez_shim"
LOOPFS = "iez_client.loopback.iez-loopfs"  # a program, built where libfuse3 is
SHIM_FLAGS = [
    "-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-fvisibility=hidden",
    "-ftls-model=initial-exec",
    # A tail call of dlsym(RTLD_NEXT) would make libc take ld.so for the caller.
    "-fno-optimize-sibling-calls",
    "-fdata-sections",
    # Fortified and stack-protected code needs symbols that a musl program lacks.
    "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0", "-fno-stack-protector",
    "-Wall", "-Wextra",
]  # fmt: skip
# Every process of a job loads the library. One segment of code and constants, no change of
# protection after the relocations, and the large buffers away from what each process touches, save
# it 40 microseconds.
SHIM_LINK = [
    "-shared", "-Wl,-z,now,-z,norelro,-z,noseparate-code", "-Wl,--sort-section=alignment",
    "-Wl,--as-needed", "-ldl",
]  # fmt: skip
LOOPFS_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra"]
CORE_ONLY = {
    "csrc/plan_build.c", "csrc/trace_table.c", "csrc/trace_merge.c", "csrc/allocate_order.c",
    "csrc/allocate_bound.c", "csrc/allocate_place.c", "csrc/allocate_fit.c",
    "csrc/allocate_polish.c",
}  # fmt: skip


def shim_sources() -> list[str]:
    return sorted(str(p) for p in Path("csrc").glob("*.c") if str(p) not in CORE_ONLY)


def fuse_flags() -> list[str]:
    """What the compiler needs for libfuse3; nothing where that is not installed."""
    try:
        found = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "fuse3 >= 3.12"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return []
    return found.stdout.split()


class BuildExt(build_ext):
    """build_ext that compiles the preloaded library and the daemon of the loopback file system by
    hand, and the rest as usual."""

    def get_ext_filename(self, fullname: str) -> str:
        # Asked for with and without the package's name; no Python tag in either.
        if SHIM.endswith(fullname):
            return fullname.replace(".", "/") + ".so"
        if LOOPFS.endswith(fullname):
            return fullname.replace(".", "/")
        return super().get_ext_filename(fullname)

    def build_extension(self, ext: Extension) -> None:
        if ext.name not in (SHIM, LOOPFS):
            super().build_extension(ext)
            return
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "cc").split()
        extra = os.environ.get("IEZ_SHIM_CFLAGS", "").split()
        before, after = [*SHIM_FLAGS, *extra], SHIM_LINK
        if ext.name == LOOPFS:
            before, after = LOOPFS_FLAGS, [*fuse_flags(), "-lpthread"]
            target.unlink(missing_ok=True)  # one that runs cannot be written to
        command = [*compiler, *before, *ext.sources, "-o", str(target), *after]
        subprocess.run(command, check=True)


class BuildScripts(build_scripts):
    """build_scripts for a virtual environment whose path cannot stand in a #! line.

    pip writes the interpreter into the first line of a script as it is, and only for entry points
    takes this way round blanks and the kernel's limit; iez-run is a script because an entry
    point imports `re` first.
    """

    def copy_scripts(self) -> tuple[list[str], list[str]]:
        written, updated = super().copy_scripts()
        if " " in sys.executable or len(sys.executable) > 120:
            for script in map(Path, written):
                body = script.read_text().partition("\n")[2]
                head = f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n"
                script.write_text(head + body)
        return written, updated


def extensions() -> list[Extension]:
    sources = {SHIM: shim_sources()}
    if fuse_flags():
        loopfs = sorted(map(str, Path("csrc/loopfs").glob("*.c")))
        sources[LOOPFS] = [*loopfs, "csrc/layout.c"]
    every = sorted(str(path) for path in Path("csrc").rglob("*.[ch]"))
    return [Extension(name, sources=own, depends=every) for name, own in sources.items()]


setup(
    ext_modules=extensions(),
    cffi_modules=["iez_common/_core_build.py:ffibuilder"],
    scripts=["iez_client/cli/iez-run"],
    cmdclass={"build_ext": BuildExt, "build_scripts": BuildScripts},
)
