"""Every case of tests/shim/cases gives the same with the library as without.

To add a case, write one more CASE() in a file there.
"""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import build_plan, shim_environment
from differential import (
    Case,
    Seen,
    all_cases,
    compile_case,
    difference,
    laid_out,
    regular_files,
    remove,
    run_case,
)
from trace_reader import record_events

from iez_client.cli import main as iez
from iez_client.plan.build import empty_plan
from iez_common.layout import read_wire

OSTS = (3, 1)
# As a plan sees the same directory: the configurations of the library, each against none.
CONFIGURATIONS = (
    "empty", "unplanned", "planned", "events", "bind_now", "refused", "silent", "lustre", "off",
)  # fmt: skip
PLANNED = ("planned", "events", "bind_now", "long")
# Cases that take long are run in the others only by scripts/test --full.
HEAVY = ("races", "signals", "temporaries-names", "temporaries-threads")
LIGHT = ("planned", "events", "refused")
LONG = ("long",)
MANY_ROUNDS = {"CASE_ROUNDS": "900"}
# Where there is no Lustre after all, F_GETFL shows O_ASYNC for files that cannot be opened a second
# time (by their mode, or because that would drop locks). It means nothing for a regular file.
FLAGS_SEEN = re.compile(r"flags (0[0-7]+)")


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the cases of one session run."""

    work: Path
    plans: dict[str, Path]
    programs: Path

    def environment(self, configuration: str) -> dict[str, str]:
        extra = {
            "bind_now": {"LD_BIND_NOW": "1"},
            "off": {"IEZ_DISABLE": "1"},
            "long": MANY_ROUNDS,
        }.get(configuration, {})
        return shim_environment(self.plans[configuration], **extra)


@pytest.fixture(scope="module")
def bench(shim_library: Path) -> Iterator[Bench]:
    # Not pytest's directory: other users must be able to enter this one.
    base = Path(tempfile.mkdtemp(prefix="iez-cases-"))
    base.chmod(0o755)
    mock = base / "mock"
    work = mock / "work"
    rows = [(f"{work}/**", len(OSTS), "1M", " ".join(map(str, OSTS)), "")]
    plans = {name: base / "plans" / name / "the.plan" for name in (*CONFIGURATIONS, *LONG)}
    (base / "programs").mkdir()
    mock.mkdir()
    build_plan(plans["unplanned"], mock, [])
    for name in (*PLANNED, "off"):
        build_plan(plans[name], mock, rows)
    record_events(plans["events"])
    build_plan(plans["refused"], mock, rows, 'inject = "EINVAL"\n')
    build_plan(plans["silent"], mock, rows, 'inject = "silent"\n')
    plans["empty"].parent.mkdir()
    plans["empty"].write_bytes(empty_plan())
    # The directory is taken for Lustre, and answers the ioctl with ENOTTY.
    table = str(plans["planned"].with_suffix(".csv"))
    plans["lustre"].parent.mkdir()
    command = ["plan", "build", "--from", table, "-o", str(plans["lustre"])]
    assert iez.main([*command, "--prefix", str(mock), "--osts", "0-7"]) == 0
    for plan in plans.values():  # a process that changes its user goes on with it
        plan.chmod(0o644)
    yield Bench(work, plans, base / "programs")
    remove(work)
    shutil.rmtree(base)


def _parameters() -> Iterator[object]:
    for case in all_cases():
        if case.id.startswith(HEAVY):
            yield pytest.param(case, LIGHT, id=case.id)
            rest = tuple(c for c in CONFIGURATIONS if c not in LIGHT)
            yield pytest.param(case, rest, id=f"{case.id}-rest", marks=pytest.mark.full)
            if case.source.stem == "races":
                yield pytest.param(case, LONG, id=f"{case.id}-long", marks=pytest.mark.full)
        else:
            yield pytest.param(case, CONFIGURATIONS, id=case.id)


@pytest.mark.parametrize(("case", "configurations"), list(_parameters()))
def test_a_program_sees_no_difference(
    case: Case, configurations: tuple[str, ...], bench: Bench
) -> None:
    program = compile_case(case.source, bench.programs)
    environ = {**os.environ, **(MANY_ROUNDS if configurations == LONG else {})}
    plain = run_case(program, case.name, bench.work, environ)
    assert plain.status != 2, "the program does not know the case"
    assert not laid_out(bench.work)
    for configuration in configurations:
        seen = run_case(program, case.name, bench.work, bench.environment(configuration))
        expected = plain
        if configuration == "lustre":
            seen, expected = without_async(seen), without_async(plain)
        assert seen == expected, f"{configuration}:\n{difference(expected, seen)}"
        if configuration in PLANNED:
            assert_layouts(case, bench.work)
        else:
            assert not laid_out(bench.work), configuration


def without_async(seen: Seen) -> Seen:
    def clear(match: re.Match[str]) -> str:
        return f"flags {int(match[1], 8) & ~fcntl.FASYNC:o}"

    return replace(seen, stdout=FLAGS_SEEN.sub(clear, seen.stdout))


def assert_layouts(case: Case, work: Path) -> None:
    """Exactly the files that the case names carry the layout of the plan."""
    found = laid_out(work)
    depends_on_rights = case.source.stem == "modes" and os.getuid() != 0
    if case.placed != ("?",) and not depends_on_rights:
        assert set(found) == {name for name in regular_files(work) if case.expects_layout(name)}
        assert bool(found) == bool(case.placed)
    for wire in found.values():
        (component,) = read_wire(wire).components
        assert tuple(component.osts) == OSTS
