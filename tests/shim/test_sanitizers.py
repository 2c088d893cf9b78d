"""The library's code under AddressSanitizer and UndefinedBehaviorSanitizer.

A sanitized library cannot be preloaded into an ordinary program, so the same sources are linked
into the case programs, whose calls then go to the hooks.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import shim_environment
from differential import CASES, COMPILE, cases_of, compile_case, difference, laid_out, run_case
from trace_reader import record_events

CSRC = Path(__file__).parent.parent.parent / "csrc"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer",
            "-fno-sanitize=nonnull-attribute"]  # fmt: skip
# What cannot be run so: little memory, small stacks, and what a sanitizer itself refuses to call.
SOURCES = ("descriptors", "kinds", "locks", "modes", "names", "names_change", "open_calls",
           "open_flags", "stream_writes", "streams", "temporaries")  # fmt: skip
LEFT_OUT = {
    "checked_forms_open",  # libasan does not know them
    "checked_forms_abort_when_asked_to_create",
    "a_file_that_is_being_run",  # says how large the program is
    "names_are_evenly_spread",  # long
}
CONFIGURATIONS = {
    "planned": "", "events": "", "refused": 'inject = "EINVAL"\n', "silent": 'inject = "silent"\n',
}  # fmt: skip
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """csrc, compiled once."""
    folder = tmp_path_factory.mktemp("sanitized")
    sources = sorted(CSRC.glob("*.c"))
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-g", *SANITIZE, f"-I{CSRC}"]
    subprocess.run(["gcc", "-c", *flags, *map(str, sources)], cwd=folder, check=True)
    return sorted(folder.glob("*.o"))


def environment(plan: Path) -> dict[str, str]:
    environ = shim_environment(
        plan, ASAN_OPTIONS="detect_leaks=0:handle_segv=0:allocator_may_return_null=1"
    )
    del environ["LD_PRELOAD"]
    return environ


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_the_cases_run_clean(
    source: str,
    configuration: str,
    objects: list[Path],
    tmp_path: Path,
    mock_plan: Build,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    work = tmp_path / "mock" / "work"
    injection = CONFIGURATIONS[configuration]
    plan = mock_plan(work.parent, [(f"{work}/**", 2, "1M", "3 1", "")], injection)
    if configuration == "events":
        record_events(plan)
    cases = cases_of(CASES / f"{source}.c")
    program = compile_case(CASES / f"{source}.c", tmp_path)
    programs = tmp_path_factory.getbasetemp() / "sanitized-programs"
    programs.mkdir(exist_ok=True)
    sanitized = programs / source
    if not sanitized.exists():
        command = [*COMPILE, *SANITIZE, str(CASES / f"{source}.c"), *map(str, objects)]
        subprocess.run([*command, "-o", str(sanitized)], check=True)
    placed = 0
    for case in cases:
        if case.name in LEFT_OUT:
            continue
        plain = run_case(program, case.name, work, os.environ)
        seen = run_case(sanitized, case.name, work, environment(plan))
        assert seen == plain, f"{case.name}:\n{difference(plain, seen)}"
        placed += len(laid_out(work))
    assert bool(placed) == (not injection)
