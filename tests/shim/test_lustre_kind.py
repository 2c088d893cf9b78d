"""The sequence on a real Lustre: ioctl, read-back and cure, against a stand-in for its client."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import iez_client

HERE = Path(__file__).parent / "lustre"
IEZ = Path(sys.executable).parent / "iez"
LIBRARY = Path(iez_client.__file__).parent / "libiez_shim.so"
REQUEST_BYTES = 48 + 2 * 24
# magic V1, RAID0, no object, 1 MiB stripes, 2 of them, generation 0, then OSTs 3 and 1.
PLANNED = bytes.fromhex(
    "d00bd10b 01000000 00000000000000000000000000000000 00001000 0200 0000"
    " 00000000000000000000000000000000 00000000 03000000"
    " 00000000000000000000000000000000 00000000 01000000"
)
DEFAULT = bytes.fromhex(
    "d00bd10b 01000000 00000000000000000000000000000000 00001000 0100 0000".replace(" ", "")
)
PLACED_NAMES = {"plain", "exclusive", "append", "reading", "nocontrol", "empty"}


@dataclass(frozen=True)
class Tools:
    fake: Path
    program: Path


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    where = tmp_path_factory.mktemp("lustre")
    built = Tools(where / "fake.so", where / "creates")
    shared = ["-shared", "-fPIC", "-o", str(built.fake), str(HERE / "fake_client.c")]
    program = ["-o", str(built.program), str(HERE / "creates.c")]
    for words in (shared, program):
        subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", *words], check=True)
    return built


@dataclass(frozen=True)
class Ran:
    output: str
    errors: str
    status: int
    layouts: dict[str, bytes]
    log: list[str]


def layouts(directory: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(directory.iterdir()):
        if not path.is_symlink() and "user.fake.lov" in os.listxattr(path):
            found[path.name] = os.getxattr(path, "user.fake.lov")
    return found


def build_plan(plan: Path, prefix: Path, path: str) -> None:
    """A plan for `path` on the Lustre at `prefix`, without a machine that has one."""
    table = plan.with_suffix(".csv")
    table.write_text(f"path,stripe_count,stripe_size,ost_list,pool\n{path},2,1M,3 1,\n")
    words = ["--from", table, "-o", plan, "--prefix", prefix, "--osts", "0-14"]
    subprocess.run([IEZ, "plan", "build", *words], check=True)


def run(
    tools: Tools, where: Path, shim: bool, *arguments: str, as_user: int = 0, **env: str
) -> Ran:
    """Runs the program on the stand-in, with or without the library in front of it."""
    where.mkdir(mode=0o777)
    where.chmod(0o777)
    plan = where.parent / f"{where.name}.plan"
    log = where.parent / f"{where.name}.log"
    log.touch(mode=0o666)
    log.chmod(0o666)
    preload = str(tools.fake)
    if shim:
        build_plan(plan, where, f"{where}/**")
        os.chown(plan, as_user, -1)
        library = tools.fake.parent / LIBRARY.name
        preload = f"{library if library.exists() else LIBRARY}:{tools.fake}"
    done = subprocess.run(
        [tools.program, *arguments],
        cwd=where,
        env={"LD_PRELOAD": preload, "IEZ_PLAN": str(plan), "FAKE_LUSTRE_LOG": str(log), **env},
        capture_output=True,
        text=True,
        user=as_user or None,
        check=False,
    )
    return Ran(
        done.stdout, done.stderr, done.returncode, layouts(where), log.read_text().split("\n")
    )


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that another user can reach."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_planned_files_get_their_osts_and_the_program_sees_no_difference(
    tools: Tools, tmp_path: Path
) -> None:
    plain = run(tools, tmp_path / "plain", shim=False)
    placed = run(tools, tmp_path / "placed", shim=True)
    assert (placed.output, placed.errors, placed.status) == (plain.output, "", plain.status)
    assert {
        name for name, layout in placed.layouts.items() if layout == PLANNED
    } == PLACED_NAMES | {"masked"}
    assert set(plain.layouts) | PLACED_NAMES == set(placed.layouts)
    assert f"setstripe {REQUEST_BYTES:x}" in placed.log


@pytest.mark.skipif(os.getuid() != 0, reason="drops privileges")
def test_files_that_a_user_may_not_write_to_are_left_alone(tools: Tools, open_path: Path) -> None:
    theirs = Tools(*(Path(shutil.copy(tool, open_path)) for tool in (tools.fake, tools.program)))
    shutil.copy(LIBRARY, open_path)
    plain = run(theirs, open_path / "plain", shim=False, as_user=65534)
    placed = run(theirs, open_path / "placed", shim=True, as_user=65534)
    assert plain.status == 0
    assert (placed.output, placed.errors, placed.status) == (plain.output, "", plain.status)
    assert {name for name, layout in placed.layouts.items() if layout == PLANNED} == PLACED_NAMES


@pytest.mark.parametrize(
    "answer",
    ["silent", "EINVAL", "ENOSPC", "EROFS", "ENOBUFS", "EREMOTEIO", "EACCES", "EIO", "ENOTCONN"],
)
@pytest.mark.parametrize("descriptors", ["many", "few"])
def test_a_refused_layout_leaves_a_writable_file_with_the_default_layout(
    tools: Tools, tmp_path: Path, answer: str, descriptors: str
) -> None:
    forced = answer if answer == "silent" else str(getattr(errno, answer))
    plain = run(tools, tmp_path / "plain", False, descriptors)
    refused = run(tools, tmp_path / "refused", True, descriptors, FAKE_LUSTRE=forced)
    assert (refused.output, refused.errors, refused.status) == (plain.output, "", plain.status)
    assert refused.layouts == plain.layouts
    assert set(refused.layouts.values()) == {DEFAULT}
    # Without a descriptor to spare the stand-in cannot write its log.
    assert (f"setstripe {REQUEST_BYTES:x}" in refused.log) == (descriptors == "many")


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EIO"])
def test_where_even_the_default_layout_is_refused_nothing_stays_behind(
    tools: Tools, tmp_path: Path, error: str
) -> None:
    number = str(getattr(errno, error))
    full = {"FAKE_LUSTRE": str(errno.ENOSPC), "FAKE_LUSTRE_DEFAULT": number}
    refused = run(tools, tmp_path / "refused", True, "one", **full)
    assert f"plain fd=-1 errno={number}" in refused.output
    assert not list((tmp_path / "refused").iterdir())


def test_an_interrupted_request_for_the_default_layout_is_made_again(
    tools: Tools, tmp_path: Path
) -> None:
    plain = run(tools, tmp_path / "plain", False, "one")
    refused = {"FAKE_LUSTRE": str(errno.ENOSPC), "FAKE_LUSTRE_DEFAULT": str(errno.EINTR)}
    again = run(tools, tmp_path / "again", True, "one", **refused)
    assert (again.output, again.layouts) == (plain.output, plain.layouts)


def test_where_there_is_no_lustre_the_descriptor_shows_no_trace(
    tools: Tools, tmp_path: Path
) -> None:
    """Without the stand-in the ioctl gives ENOTTY and the delay flag would stay visible."""
    nothing = Tools(Path("libc.so.6"), tools.program)
    plain = run(nothing, tmp_path / "plain", shim=False)
    placed = run(nothing, tmp_path / "placed", shim=True)
    assert (placed.output, placed.errors, placed.status) == (plain.output, "", plain.status)


def test_ranks_that_create_one_file_at_once_all_get_the_planned_layout(
    tools: Tools, tmp_path: Path
) -> None:
    for turn in range(20):
        where = tmp_path / f"turn{turn}"
        where.mkdir()
        plan = tmp_path / f"race{turn}"
        build_plan(plan, where, f"{where}/plain")
        env = {
            "LD_PRELOAD": f"{LIBRARY}:{tools.fake}",
            "IEZ_PLAN": str(plan),
            "FAKE_LUSTRE": "slow",
        }
        ranks = [
            subprocess.Popen([tools.program, "few"], cwd=where, env=env, stdout=subprocess.PIPE)
            for _ in range(8)
        ]
        outputs = [rank.communicate()[0].decode().splitlines()[0] for rank in ranks]
        assert all("fd=3 errno=0" in output for output in outputs), outputs
        assert os.getxattr(where / "plain", "user.fake.lov") == PLANNED
