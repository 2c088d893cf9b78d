"""Another preloaded library at the same time, on either side of this one."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import shim_environment
from differential import CASES, XATTR, compile_case, difference, run_case

PRELOADS = Path(__file__).parent / "preloads"
NAMES = {
    "lifetime": ["from_the_first_to_the_last_moment", "a_quick_exit"],
    "open_calls": ["open_creates_and_opens_again", "open64_creates_and_opens_again"],
    "streams": ["streams_are_placed"],
    "processes": ["vfork_and_exec", "twelve_descriptors"],
}
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("preload") / "early.so"
    command = ["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror"]
    subprocess.run([*command, str(PRELOADS / "early.c"), "-o", str(library), "-ldl"], check=True)
    return library


@pytest.mark.parametrize("bind_now", [{}, {"LD_BIND_NOW": "1"}], ids=["lazy", "now"])
@pytest.mark.parametrize("order", ["{shim}:{other}", "{other}:{shim}", "{other} {shim} {other}"])
def test_another_preloaded_library_sees_no_difference(
    order: str,
    bind_now: dict[str, str],
    other: Path,
    shim_library: Path,
    tmp_path: Path,
    mock_plan: Build,
) -> None:
    work = tmp_path / "mock" / "work"
    work.mkdir(parents=True)
    plan = mock_plan(work.parent, [(f"{work}/**", 2, "1M", "3 1", "")])
    both = shim_environment(
        plan, LD_PRELOAD=order.format(shim=shim_library, other=other), **bind_now
    )
    alone = {**os.environ, "LD_PRELOAD": str(other), **bind_now}
    for source, names in NAMES.items():
        program = compile_case(CASES / f"{source}.c", tmp_path)
        for name in names:
            plain = run_case(program, name, work, alone)
            seen = run_case(program, name, work, both)
            assert seen == plain, f"{name}:\n{difference(plain, seen)}"
            created = {file.name for file in work.iterdir() if XATTR in os.listxattr(file)}
            assert created, name


def test_the_variables_of_the_environment_stay(
    tmp_path: Path, mock_plan: Build, other: Path, shim_library: Path
) -> None:
    plan = mock_plan(tmp_path / "mock", [])
    environ = shim_environment(plan, LD_PRELOAD=f"{shim_library}:{other}")
    done = subprocess.run(["env"], env=environ, cwd=tmp_path, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert f"LD_PRELOAD={shim_library}:{other}" in lines
    assert f"IEZ_PLAN={plan}" in lines


def test_a_library_that_stands_in_for_dlsym_does_no_harm(
    tmp_path: Path, mock_plan: Build, shim_library: Path
) -> None:
    library = tmp_path / "own_dlsym.so"
    words = ["gcc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-fno-optimize-sibling-calls"]
    subprocess.run([*words, str(PRELOADS / "own_dlsym.c"), "-o", str(library)], check=True)
    mock = tmp_path / "mock"
    mock.mkdir()
    plan = mock_plan(mock, [(f"{mock}/**", 2, "1M", "3 1", "")])
    for order in (f"{library}:{shim_library}", f"{shim_library}:{library}"):
        both = shim_environment(plan, LD_PRELOAD=order)
        done = subprocess.run(["bash", "-c", f"echo x > {mock}/a"], env=both, check=False)
        assert done.returncode == 0
        assert (mock / "a").read_text() == "x\n"
        (mock / "a").unlink()
