"""Every case of tests/shim/cases gives the same with the library as without: in a directory that a
plan takes for Lustre, and in a loopback mount, whose layouts are real.

To add a case, write one more CASE() in a file there.
"""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from conftest import build_plan, shim_environment
from differential import (
    XATTR,
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
from loopback_fixtures import Loopback, Mounted
from trace_reader import record_events

from iez_client.cli import main as iez
from iez_client.plan.build import empty_plan
from iez_common.layout import read_wire

OSTS = (3, 1)
STRIPE_SIZE_BYTES = 1 << 20
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
# The same in a mount, whose MDS gives one answer for all cases. No case maps a file of its own to
# share it, which could not be done without a cache.
IN_MOUNTS = {
    "cached": (("planned", "events", "unplanned"), ("refused",), ("silent",)),
    "direct": (("planned",), ("refused",)),
}
HEAVY_IN_MOUNTS = (
    *HEAVY, "names-bytes", "open_calls-many_files",
    "streams-every_mode_of_fopen64", "streams-every_mode_of_freopen", "writes-thirty_threads",
)  # fmt: skip
ANSWERS = {"refused": "EINVAL", "silent": "silent"}
# Files that cannot be opened a second time, by their mode or because that would drop locks. Lustre
# takes the delay flag off a descriptor; any other file system, FUSE too, leaves O_ASYNC there, and
# on these it stays to be seen. It means nothing for a regular file. Where they are refused a
# layout, they have none until they are written to.
OPENED_ONCE = {
    "locks-locks_on_an_empty_file_stay",
    "locks-locks_go_when_the_program_closes",
    "modes-every_mode_and_umask_as_a_user",
    "modes-a_user_creates",
    "modes-streams_with_every_umask_as_a_user",
    "processes-twelve_descriptors_and_no_right_to_open_again",
}
# In a mount the first open for writing gives it a layout, before it is made empty.
HAS_LAYOUT_SOON = {"kinds-links_to_files"}
FLAGS_SEEN = re.compile(r"flags (0[0-7]+)")


@dataclass(frozen=True, slots=True)
class Layouts:
    """The regular files that have one, by name."""

    planned: frozenset[str]
    others: frozenset[str]  # Lustre's own choice


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the cases run."""

    work: Path
    plans: dict[str, Path]
    programs: Path
    xattr: str = XATTR
    plain: dict[str, tuple[Seen, Layouts]] = field(default_factory=dict)

    def run(self, case: Case, environ: dict[str, str]) -> tuple[Seen, Layouts]:
        program = compile_case(case.source, self.programs)
        seen = run_case(program, case.name, self.work, environ)
        assert seen.status != 2, "the program does not know the case"
        return seen, self.layouts()

    def run_plainly(self, case: Case, many_rounds: bool) -> tuple[Seen, Layouts]:
        """Without the library; once."""
        key = f"{case.id} {many_rounds}"
        if key not in self.plain:
            self.plain[key] = self.run(case, {**os.environ, **(MANY_ROUNDS if many_rounds else {})})
        return self.plain[key]

    def environment(self, configuration: str) -> dict[str, str]:
        extra = {
            "bind_now": {"LD_BIND_NOW": "1"},
            "off": {"IEZ_DISABLE": "1"},
            "long": MANY_ROUNDS,
        }.get(configuration, {})
        return shim_environment(self.plans[configuration], **extra)

    def layouts(self) -> Layouts:
        planned, others = set(), set()
        for name, wire in laid_out(self.work, self.xattr).items():
            (component,) = read_wire(wire).components
            is_planned = component.osts == OSTS
            assert not is_planned or component.stripe_size_bytes == STRIPE_SIZE_BYTES
            (planned if is_planned else others).add(name)
        return Layouts(frozenset(planned), frozenset(others))


def everything(work: Path) -> list[tuple[object, ...]]:
    """The plan: all below `work`."""
    return [(f"{work}/**", len(OSTS), STRIPE_SIZE_BYTES, " ".join(map(str, OSTS)), "")]


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """Not pytest's directory: other users must be able to enter this one."""
    base = Path(tempfile.mkdtemp(prefix="iez-cases-"))
    base.chmod(0o755)
    (base / "programs").mkdir()
    yield base
    shutil.rmtree(base)


def open_to_all(plans: dict[str, Path]) -> dict[str, Path]:
    """A process that changes its user goes on with its plan."""
    for plan in plans.values():
        plan.chmod(0o644)
    return plans


@pytest.fixture(scope="module")
def bench(shim_library: Path, base: Path) -> Iterator[Bench]:
    mock = base / "mock"
    work = mock / "work"
    rows = everything(work)
    plans = {name: base / "plans" / name / "the.plan" for name in (*CONFIGURATIONS, *LONG)}
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
    yield Bench(work, open_to_all(plans), base / "programs")
    remove(work)


@pytest.fixture(scope="module")
def mounts(
    shim_library: Path, base: Path, loopback: Loopback
) -> Iterator[dict[str, tuple[Mounted, Bench]]]:
    found = {}
    for kind in IN_MOUNTS:
        # One stripe by default, so that what Lustre chooses is never what is planned.
        mounted = loopback(mount=base / kind, mmap=kind == "cached", stripe_count=1)
        work = mounted.mount / "work"
        plans = {
            name: base / "plans" / kind / name / "the.plan"
            for configurations in IN_MOUNTS[kind]
            for name in configurations
        }
        for name, plan in plans.items():
            build_plan(plan, None, [] if name == "unplanned" else everything(work))
        if "events" in plans:
            record_events(plans["events"])
        bench = Bench(work, open_to_all(plans), base / "programs", "lustre.lov")
        found[kind] = (mounted, bench)
    yield found
    for mounted, bench in found.values():
        remove(bench.work)
        mounted.down()


@pytest.fixture(
    scope="module",
    params=[(kind, names) for kind, groups in IN_MOUNTS.items() for names in groups],
    ids=lambda parameter: f"{parameter[0]}-{parameter[1][0]}",
)
def answering(
    request: pytest.FixtureRequest, mounts: dict[str, tuple[Mounted, Bench]]
) -> tuple[Bench, tuple[str, ...]]:
    """A mount that gives the answer of these configurations."""
    kind, configurations = request.param
    mounted, bench = mounts[kind]
    mounted.set("--inject", ANSWERS.get(configurations[0], "none"))
    return bench, configurations


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


def _parameters_in_mounts() -> Iterator[object]:
    for case in all_cases():
        marks = [pytest.mark.full] if case.id.startswith(HEAVY_IN_MOUNTS) else []
        yield pytest.param(case, id=case.id, marks=marks)


@pytest.mark.parametrize(("case", "configurations"), list(_parameters()))
def test_a_program_sees_no_difference(
    case: Case, configurations: tuple[str, ...], bench: Bench
) -> None:
    for configuration in configurations:
        assert_no_difference(case, configuration, bench, configuration == "lustre")


@pytest.mark.fuse
@pytest.mark.parametrize("case", list(_parameters_in_mounts()))
def test_a_program_sees_no_difference_in_a_loopback_mount(
    case: Case, answering: tuple[Bench, tuple[str, ...]]
) -> None:
    bench, configurations = answering
    for configuration in configurations:
        assert_no_difference(case, configuration, bench, True)


def assert_no_difference(case: Case, configuration: str, bench: Bench, keeps_async: bool) -> None:
    plain, without = bench.run_plainly(case, configuration in LONG)
    assert not without.planned
    seen, layouts = bench.run(case, bench.environment(configuration))
    expected = plain
    if keeps_async and case.id in OPENED_ONCE:
        seen, expected = without_async(seen), without_async(plain)
    assert seen == expected, f"{configuration}:\n{difference(expected, seen)}"
    assert_layouts(case, bench, layouts, without, configuration in PLANNED)


def without_async(seen: Seen) -> Seen:
    def clear(match: re.Match[str]) -> str:
        return f"flags {int(match[1], 8) & ~fcntl.FASYNC:o}"

    return replace(seen, stdout=FLAGS_SEEN.sub(clear, seen.stdout))


def assert_layouts(
    case: Case, bench: Bench, layouts: Layouts, without: Layouts, is_planned: bool
) -> None:
    """Exactly the files that the case names carry the layout of the plan, and of the others those
    that have one without iez."""
    depends_on_rights = case.source.stem == "modes" and os.getuid() != 0
    if is_planned and (case.placed == ("?",) or depends_on_rights):
        assert layouts.others <= without.others
        assert without.others <= layouts.others | layouts.planned or case.id in OPENED_ONCE
        return
    expects = is_planned and bool(case.placed)
    if bench.xattr != XATTR and case.id in HAS_LAYOUT_SOON:
        expects = False
    files = regular_files(bench.work)
    names = {name for name in files if expects and case.expects_layout(name)}
    assert layouts.planned == names
    assert bool(names) == expects
    rest = without.others - names
    assert layouts.others == rest or (case.id in OPENED_ONCE and layouts.others < rest)
