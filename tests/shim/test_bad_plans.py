"""Plans that cannot be used: one line on standard error, and the job runs plain."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import shim_environment
from differential import CASES, XATTR, compile_case, patch_plan, run_case, section

from iez_client.plan.build import empty_plan
from iez_common._core import lib

MakePlan = Callable[..., Path]
Run = Callable[..., subprocess.CompletedProcess[str]]
CASE = "open_creates_and_opens_again"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_case(CASES / "open_calls.c", tmp_path_factory.mktemp("program"))


@pytest.fixture
def plan(work: Path, mock_plan: MakePlan) -> Path:
    return mock_plan(work, [(f"{work}/**", 2, "1M", "3 1", "")])


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A directory that other users can enter."""
    markers = set(Path("/dev/shm").glob("iez-said-*"))
    with tempfile.TemporaryDirectory(prefix="iez-plans-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
    for marker in set(Path("/dev/shm").glob("iez-said-*")) - markers:
        marker.unlink()  # where a user may not write beside the plan


def set_header(plan: Path, **fields: int) -> None:
    def change(image: bytearray, header: object) -> None:
        for name, value in fields.items():
            setattr(header, name, value)

    patch_plan(plan, change)


def cut(plan: Path, by: int) -> None:
    plan.write_bytes(plan.read_bytes()[:by])


def flip(plan: Path, at: int) -> None:
    image = bytearray(plan.read_bytes())
    image[at] ^= 0x10
    plan.write_bytes(image)


def replace_by(plan: Path, make: Callable[[Path], object]) -> None:
    plan.unlink()
    make(plan)


def section_outside(plan: Path) -> None:
    def change(image: bytearray, header: object) -> None:
        header.slots.count = 1 << 60

    patch_plan(plan, change)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda plan: plan.write_bytes(b""),
    "one byte": lambda plan: cut(plan, 1),
    "half a header": lambda plan: cut(plan, 90),
    "a header alone": lambda plan: cut(plan, 184),
    "truncated": lambda plan: cut(plan, -1),
    "grown": lambda plan: plan.write_bytes(plan.read_bytes() + b"more"),
    "foreign": lambda plan: plan.write_bytes(b"\x7fELF" + bytes(1000)),
    "text": lambda plan: plan.write_text("path,stripe_count\n" * 100),
    "zeros": lambda plan: plan.write_bytes(bytes(4096)),
    "newer version": lambda plan: set_header(plan, version=lib.IEZ_PLAN_VERSION + 1),
    "older version": lambda plan: set_header(plan, version=0),
    "other header": lambda plan: set_header(plan, header_bytes=192),
    "damaged header": lambda plan: flip(plan, 40),
    "damaged checksum": lambda plan: flip(plan, 180),
    "a section outside": section_outside,
    "group-writable": lambda plan: plan.chmod(0o664),
    "world-writable": lambda plan: plan.chmod(0o646),
    "a directory": lambda plan: replace_by(plan, Path.mkdir),
    "a FIFO": lambda plan: replace_by(plan, os.mkfifo),
    "a device": lambda plan: replace_by(plan, lambda path: path.symlink_to("/dev/zero")),
    "a dangling link": lambda plan: replace_by(plan, lambda path: path.symlink_to("none")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_plan_that_cannot_be_used(damage: str, program: Path, work: Path, plan: Path) -> None:
    plain = run_case(program, CASE, work, os.environ)
    DAMAGE[damage](plan)
    seen = run_case(program, CASE, work, shim_environment(plan))
    assert (seen.status, seen.stdout, seen.tree) == (plain.status, plain.stdout, plain.tree)
    (line,) = seen.stderr.splitlines()
    assert line.startswith(f"iez: plan {plan}: ")
    assert not any(XATTR in os.listxattr(file) for file in work.iterdir())
    again = run_case(program, CASE, work, shim_environment(plan))
    assert again == plain, "a job speaks once"


def test_a_damaged_entry_is_met_later(program: Path, work: Path, plan: Path) -> None:
    """The header is good: the damage shows at the first create."""

    def change(image: bytearray, header: object) -> None:
        options = section(image, header, "options", "uint32_t")
        for number in range(header.options.count):
            options[number] = 0x7FFFFFF0

    patch_plan(plan, change)
    plain = run_case(program, CASE, work, os.environ)
    seen = run_case(program, CASE, work, shim_environment(plan))
    assert (seen.status, seen.stdout, seen.tree) == (plain.status, plain.stdout, plain.tree)
    assert len(seen.stderr.splitlines()) == 1
    assert seen.stderr.startswith("iez: ")


def test_a_damaged_layout_record_is_met_later(program: Path, work: Path, plan: Path) -> None:
    def change(image: bytearray, header: object) -> None:
        layouts = section(image, header, "layouts", "struct iez_layout")
        layouts[0].bytes = 0xFFFFFFF0
        layouts[0].component_count = 0xFFFFFFFF

    patch_plan(plan, change)
    plain = run_case(program, CASE, work, os.environ)
    seen = run_case(program, CASE, work, shim_environment(plan))
    assert (seen.status, seen.stdout, seen.tree) == (plain.status, plain.stdout, plain.tree)
    assert len(seen.stderr.splitlines()) <= 1


def test_a_job_of_many_processes_speaks_once(work: Path, plan: Path, run_with_shim: Run) -> None:
    cut(plan, -1)
    script = "for i in $(seq 20); do sh -c 'echo x > f'$i & done; wait"
    done = run_with_shim(["sh", "-c", script], plan, cwd=work)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert len(list(work.iterdir())) == 20


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to be two users")
@pytest.mark.parametrize("case", ["unreadable", "of another user", "in a closed directory"])
def test_a_plan_of_another_user(case: str, open_folder: Path, program: Path) -> None:
    work = open_folder / "work"
    plan = open_folder / "plans" / "the.plan"
    plan.parent.mkdir()
    plan.write_bytes(empty_plan())
    plan.chmod(0o600 if case == "unreadable" else 0o644)
    if case == "of another user":
        os.chown(plan, 65533, 65533)
    if case == "in a closed directory":
        plan.parent.chmod(0o700)
    own = open_folder / "program"
    own.write_bytes(program.read_bytes())
    own.chmod(0o755)
    work.mkdir()
    work.chmod(0o777)

    def run(environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
        for file in work.iterdir():
            file.unlink()
        return subprocess.run(
            [own, CASE], cwd=work, env=environ, user=65534, group=65534, extra_groups=[],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    plain = run(dict(os.environ))
    seen = run(shim_environment(plan))
    assert (seen.returncode, seen.stdout) == (plain.returncode, plain.stdout)
    # Nothing is preloaded that the user cannot read.
    lines = [line for line in seen.stderr.splitlines() if not line.startswith("ERROR: ld.so")]
    assert len(lines) <= 1, seen.stderr
    assert all(line.startswith("iez: plan ") for line in lines)


@pytest.mark.parametrize("value", ["1", "yes", "true"])
def test_the_library_can_be_disabled(value: str, program: Path, work: Path, plan: Path) -> None:
    plain = run_case(program, CASE, work, os.environ)
    seen = run_case(program, CASE, work, shim_environment(plan, IEZ_DISABLE=value))
    assert seen == plain
    assert not any(XATTR in os.listxattr(file) for file in work.iterdir())
    cut(plan, 10)
    assert run_case(program, CASE, work, shim_environment(plan, IEZ_DISABLE=value)) == plain


@pytest.mark.parametrize("value", ["0", ""])
def test_a_disable_switch_that_is_off(value: str, program: Path, work: Path, plan: Path) -> None:
    run_case(program, CASE, work, shim_environment(plan, IEZ_DISABLE=value))
    assert XATTR in os.listxattr(work / "new")


@pytest.mark.parametrize("variables", [{}, {"IEZ_PLAN": ""}, {"IEZ_PLAN": "x" * 5000}])
def test_without_a_plan_nothing_is_said(
    variables: dict[str, str], program: Path, work: Path, shim_library: Path
) -> None:
    plain = run_case(program, CASE, work, os.environ)
    environ = {**os.environ, "LD_PRELOAD": str(shim_library), **variables}
    assert run_case(program, CASE, work, environ) == plain


def test_trouble_is_not_written_into_a_data_file(
    work: Path, plan: Path, run_with_shim: Run
) -> None:
    """Descriptor 2 is another file by the time that the damaged entry is met."""
    patch_plan(plan, lambda image, header: setattr(header.texts, "count", 0))
    script = "exec 2> data; echo own >&2; echo x > new"
    done = run_with_shim(["sh", "-c", script], plan, cwd=work)
    assert (done.returncode, done.stderr) == (0, "")
    assert (work / "data").read_text() == "own\n"
    done = run_with_shim(["sh", "-c", "exec 2>&-; echo x > first; echo y > second"], plan, cwd=work)
    assert done.returncode == 0
    assert (work / "first").read_text() == "x\n"


def test_standard_error_that_is_closed_from_the_start(
    program: Path, work: Path, plan: Path
) -> None:
    """The plan is broken and descriptor 2 free: the first file of the program becomes 2."""
    cut(plan, 50)
    command = f"exec 2>&-; exec {program} {CASE}"
    outputs = []
    for environ in (dict(os.environ), shim_environment(plan)):
        for file in work.iterdir():
            file.unlink()
        done = subprocess.run(
            ["sh", "-c", command], cwd=work, env=environ, capture_output=True, text=True, check=True
        )
        outputs.append((done.stdout, {f.name: f.read_bytes() for f in work.iterdir()}))
    assert outputs[0] == outputs[1]


def grow(plan: Path, to_bytes: int) -> None:
    """As large as a plan of a million files, without the files."""
    set_header(plan, file_bytes=to_bytes)
    os.truncate(plan, to_bytes)


@pytest.mark.parametrize("plan_mib", [1, 100])
def test_little_address_space_and_a_large_plan(
    plan_mib: int, program: Path, work: Path, plan: Path
) -> None:
    grow(plan, plan_mib << 20)
    limited = ["prlimit", f"--as={256 << 20}", program, CASE]
    done = subprocess.run(limited, cwd=work, env=shim_environment(plan), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert XATTR in os.listxattr(work / "new")


def test_a_plan_that_does_not_fit(program: Path, work: Path, plan: Path) -> None:
    grow(plan, 300 << 20)
    plain = run_case(program, CASE, work, os.environ)
    for file in work.iterdir():
        file.unlink()
    limited = ["prlimit", f"--as={256 << 20}", program, CASE]
    done = subprocess.run(
        limited, cwd=work, env=shim_environment(plan), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    assert len(done.stderr.splitlines()) == 1
    assert XATTR not in os.listxattr(work / "new")


def test_nobody_reads_standard_error_any_more(plan: Path, work: Path) -> None:
    """The line must not end the program by SIGPIPE."""
    plan.unlink()
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(["true"], env=shim_environment(plan), stderr=writer, check=False)
    os.close(writer)
    assert done.returncode == 0


def test_a_relative_path_is_no_plan(
    plan: Path, work: Path, run_with_shim: Run, open_folder: Path
) -> None:
    done = run_with_shim(["touch", work / "a"], Path(plan.name), cwd=plan.parent)
    assert (done.returncode, done.stderr.count("iez:")) == (0, 1)
    assert XATTR not in os.listxattr(work / "a")
