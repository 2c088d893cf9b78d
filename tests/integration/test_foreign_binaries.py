"""Programs that the library cannot enter, or meets in company: they all run as without it."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from side_by_side import PROGRAMS, SHIM, SideBySide

NEVER_PLACED = ["read_only"]  # created without owner write
DYNAMIC = {
    "glibc": ["cc"],
    "glibc_bound_at_start": ["cc", "-Wl,-z,now"],
    "glibc_at_a_fixed_address": ["cc", "-no-pie", "-fno-pie"],
    "glibc_fortified": ["cc", "-O2", "-D_FORTIFY_SOURCE=2", "-Wno-unused-result"],
    "glibc_large_file": ["cc", "-D_FILE_OFFSET_BITS=64"],
    "tcc": ["tcc"],
    "musl": ["musl-gcc"],
}
STATIC = {
    "static_glibc": ["cc", "-static"],
    "static_position_independent_glibc": ["cc", "-static-pie", "-fPIE"],
    "static_musl": ["musl-gcc", "-static"],
    "static_32_bit": ["cc", "-m32", "-static"],
}
RAW = {
    "static": ["-static"],
    "loaded_by_ld_so": ["-pie", "-fPIE", "-Wl,-z,now"],
}


def compile_c(command: list[str], source: str, target: Path, *options: str) -> Path:
    compiler = [*command, str(PROGRAMS / source), "-o", str(target), *options]
    subprocess.run(compiler, check=True)
    return target


@pytest.mark.parametrize("compiler", DYNAMIC.values(), ids=DYNAMIC.keys())
def test_dynamic_program_is_placed_and_unharmed(compiler: list[str], tmp_path: Path) -> None:
    program = compile_c(compiler, "creates.c", tmp_path / "creates", "-pthread")
    result = SideBySide(tmp_path).compare([program], unplaced=NEVER_PLACED)
    assert result.status == 3


@pytest.mark.parametrize("compiler", STATIC.values(), ids=STATIC.keys())
def test_static_program_is_unharmed(compiler: list[str], tmp_path: Path) -> None:
    program = compile_c(compiler, "creates.c", tmp_path / "creates", "-pthread")
    result = SideBySide(tmp_path).compare([program], unplaced=["*"])
    assert result.status == 3


@pytest.mark.parametrize("options", RAW.values(), ids=RAW.keys())
def test_program_without_a_c_library_is_unharmed(options: list[str], tmp_path: Path) -> None:
    program = compile_c(
        ["cc", "-nostdlib", "-nostartfiles", "-fno-stack-protector"],
        "raw.c",
        tmp_path / "raw",
        *options,
    )
    result = SideBySide(tmp_path).compare([program], unplaced=["raw"])
    assert (result.status, result.stdout) == (3, b"raw\n")


def test_32_bit_program_runs_with_the_line_that_ld_so_prints(tmp_path: Path) -> None:
    """Any 64-bit library that is preloaded gets that line; there is nothing more of it."""
    program = compile_c(["cc", "-m32"], "creates.c", tmp_path / "creates", "-pthread")
    side_by_side = SideBySide(tmp_path)
    plain, shimmed = (side_by_side.run([program], shim) for shim in (False, True))
    warning = rf"ERROR: ld\.so: object '{re.escape(str(SHIM))}' .*wrong ELF class.*ignored\.\n"
    assert re.fullmatch(warning.encode(), shimmed.stderr)
    assert (shimmed.status, shimmed.stdout, shimmed.tree) == (3, plain.stdout, plain.tree)


@pytest.mark.parametrize("order", ["before", "after"])
def test_another_tracer_sees_every_file(order: str, tmp_path: Path) -> None:
    tracer = compile_c(["cc", "-O1"], "tracer.c", tmp_path / "tracer.so", "-shared", "-fPIC")
    program = compile_c(["cc"], "creates.c", tmp_path / "creates", "-pthread")
    seen = []
    for shim in (False, True):
        log = tmp_path / f"log_{shim}"
        side_by_side = SideBySide(tmp_path, env={"TRACER": str(log)})
        setattr(side_by_side, f"preload_{order}", [tracer])
        result = side_by_side.run([program], shim)
        seen.append((result, set(log.read_text().splitlines()) - {"x"}))
    (plain, plain_paths), (shimmed, shimmed_paths) = seen
    assert shimmed == plain
    assert plain.status == 3
    assert side_by_side.outcome("IEZ_PLACED") >= 200
    temporary = {path for path in shimmed_paths if re.fullmatch(r"temp\w{6}(\.h5)?", path)}
    assert shimmed_paths - temporary >= plain_paths - {"freopen"}
    assert shimmed_paths - temporary - plain_paths <= {"creat", "freopen"}


def test_secure_program_is_unharmed(tmp_path: Path) -> None:
    """ld.so drops the preload of a program that runs with other rights than its caller's."""
    assert SideBySide(tmp_path).compare(["su", "--version"]).status == 0
    if os.geteuid() != 0:
        return
    program = compile_c(["cc"], "creates.c", tmp_path / "creates", "-pthread")
    os.chown(program, 65534, 65534)
    program.chmod(0o6755)
    command = ["sh", "-c", f"chmod -R a+rwX . && {program}"]
    assert SideBySide(tmp_path).compare(command, unplaced=["*"]).status == 3
