"""The directory of a run's traces: made before it, written into its plan, tidied after it."""

from pathlib import Path

import pytest
from trace_builder import Trace, written

from iez_client.filesystems import from_list
from iez_client.parse.events import blocks_of, read_trace
from iez_client.plan.bind import bind
from iez_client.plan.build import empty_plan
from iez_client.plan.compile import compile_draft
from iez_client.plan.draft import Draft
from iez_client.plan.image import stamp
from iez_client.plan.read import Plan
from iez_client.plan.template import parse
from iez_client.trace import NOTE_NAME, Tracing, begin, tidy
from iez_common import config
from iez_common._core import lib
from iez_common.errors import OutputError
from iez_common.layout import plain

LUSTRE = from_list(Path("/l"), range(4))


@pytest.fixture
def image() -> bytearray:
    """A plan with a file, whose length is not a multiple of anything."""
    draft = Draft(file_systems=(LUSTRE,))
    draft.add_name(parse("/l/a"), draft.add_layout(plain(1, 1 << 20, (1,))), 1)
    return bind(compile_draft(draft), (LUSTRE,), 1000)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "state" / "runs" / "one"
    folder.mkdir(parents=True)
    return folder


def settings(tmp_path: Path, **variables: str) -> config.Config:
    return config.load(None, {"HOME": str(tmp_path), **variables}, tmp_path / "none.toml")


def check(image: bytes | bytearray) -> Plan:
    plan = Plan(image, "test")
    plan.verify()
    return plan


@pytest.mark.parametrize("directory", [b"/t", b"/t\xff \n" * 7, b"/" + b"x" * 4000])
@pytest.mark.parametrize("events", [False, True])
def test_stamped_plan_is_whole_and_says_where_its_traces_go(
    image: bytearray, directory: bytes, events: bool
) -> None:
    plan = check(stamp(image, (1 << 63) + 5, directory, events))
    assert plan.trace_dir == directory
    assert (plan.header.run, plan.header.trace_events) == ((1 << 63) + 5, events)
    found = plan.find(b"/l/a").layout
    assert found == check(image).find(b"/l/a").layout
    assert found is not None
    assert plan.generation == check(image).generation


def test_last_stamp_holds(image: bytearray) -> None:
    plan = check(stamp(stamp(image, 1, b"/a/long/directory", True), 2, b"/b", False))
    assert (plan.trace_dir, plan.header.run, plan.header.trace_events) == (b"/b", 2, 0)


def test_stamp_leaves_the_image_alone(image: bytearray) -> None:
    before = bytes(image)
    stamp(image, 1, b"/t", True)
    assert image == before
    assert check(image).trace_dir == b""


def test_empty_plan_can_be_stamped() -> None:
    assert check(stamp(empty_plan(), 1, b"/t", False)).trace_dir == b"/t"


def test_changed_stamp_does_not_verify(image: bytearray) -> None:
    stamped = stamp(image, 1, b"/trace-here", False)
    stamped[stamped.index(b"/trace-here") + 3] ^= 1
    with pytest.raises(Exception, match="checksum"):
        check(stamped)


def test_tracing_comes_back_from_its_plan(image: bytearray) -> None:
    tracing = Tracing(Path("/t/x"), 77, True)
    assert Tracing.of(check(tracing.stamp(image)), Path("/run/plan")) == tracing


def test_plan_without_a_directory_means_the_one_it_is_in(image: bytearray) -> None:
    assert Tracing.of(check(image), Path("/run/plan")) == Tracing(Path("/run"), 0, False)


@pytest.mark.parametrize("name", ["runs/one", "runs/job/2"])
def test_directory_is_made_beside_the_runs(tmp_path: Path, name: str) -> None:
    run_dir = tmp_path / "state" / name
    run_dir.mkdir(parents=True)
    tracing = begin(run_dir, settings(tmp_path), events=True)
    assert tracing.directory.parent == tmp_path / "state" / "traces"
    assert tracing.directory.stat().st_mode & 0o777 == 0o700
    assert tracing.directory.parent.stat().st_mode & 0o777 == 0o700
    assert (run_dir / NOTE_NAME).read_text() == str(tracing.directory)
    assert tracing.events


def test_two_runs_differ(tmp_path: Path, run_dir: Path) -> None:
    first, second = (begin(run_dir, settings(tmp_path), events=False) for _ in range(2))
    assert first.run != second.run
    assert first.directory != second.directory


def test_directory_that_is_asked_for_is_made_with_those_above(
    tmp_path: Path, run_dir: Path
) -> None:
    wanted = tmp_path / "a" / "b"
    for _ in range(2):  # and may be there already
        tracing = begin(run_dir, settings(tmp_path, IEZ_TRACE_DIR=str(wanted)), events=False)
        assert tracing.directory == wanted
    assert wanted.stat().st_mode & 0o777 == 0o700


def test_directory_that_cannot_be_made_is_an_error_with_a_hint(
    tmp_path: Path, run_dir: Path
) -> None:
    (tmp_path / "file").touch()
    config = settings(tmp_path, IEZ_TRACE_DIR=str(tmp_path / "file" / "x"))
    with pytest.raises(OutputError, match=r"file/x cannot be written: not a directory") as caught:
        begin(run_dir, config, events=False)
    assert "--trace-dir" in caught.value.hint


def test_tidy_removes_an_empty_directory_of_its_own_only(tmp_path: Path, run_dir: Path) -> None:
    own = begin(run_dir, settings(tmp_path), events=False)
    mine = tmp_path / "traces" / "mine"
    asked = begin(run_dir, settings(tmp_path, IEZ_TRACE_DIR=str(mine)), events=False)
    for tracing in (own, asked):
        tidy(tracing, run_dir)
    assert not own.directory.exists()
    assert mine.is_dir()


def test_tidy_packs_the_events_of_the_run_only(tmp_path: Path, run_dir: Path) -> None:
    tracing = begin(run_dir, settings(tmp_path), events=True)
    for pid, run in ((1, tracing.run), (2, tracing.run + 1)):
        trace = Trace(pid=pid, run=run)
        number = trace.file("/l/a", written(10, 10))
        trace.events([(i, i, 1, 10, number, 0, 0) for i in range(9)])
        trace.write(tracing.directory, f"node.{pid}.0.trace")
    tidy(tracing, run_dir)
    kinds = [
        {block.kind for block in blocks_of(read_trace(path))}
        for path in sorted(tracing.directory.iterdir())
    ]
    packed, events = int(lib.IEZ_BLOCK_PACKED), int(lib.IEZ_BLOCK_EVENTS)
    assert [(packed in each, events in each) for each in kinds] == [(True, False), (False, True)]
