"""Builds and runs the fuzzers of tests/shim under AddressSanitizer."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_fuzzer(folder: Path, name: str, sources: tuple[str, ...], *words: str) -> dict[str, int]:
    """Runs tests/shim/NAME.c, linked with files of csrc; gives what it counted. Fails if the
    sanitizer found anything."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler is needed"
    command = [
        compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Icsrc",
        "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer",
        f"tests/shim/{name}.c", *(f"csrc/{source}.c" for source in sources),
        "-o", str(folder / name),
    ]  # fmt: skip
    subprocess.run(command, cwd=ROOT, check=True)
    done = subprocess.run(
        [folder / name, *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    counted = done.stdout.split()
    return dict(zip(counted[::2], map(int, counted[1::2]), strict=True))
