"""Coverage: small programs in, what the trace has of each of their calls out.

The programs are in tests/shim/coverage; each CALL() there says what the trace must have. The page
docs/tracing-coverage.md is made of the same runs.
"""

import fnmatch
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from conftest import build_plan, shim_environment
from differential import COMPILE, Seen, run_case
from trace_reader import APIS, FileTrace, read_traces, record_events, remove_traces

HERE = Path(__file__).parent / "coverage"
# By their symbols, not as the compiler would have them.
PLAIN = [*COMPILE, "-O0", "-fno-builtin"]
CHECKED = [*COMPILE, "-O2", "-D_FORTIFY_SOURCE=2"]
STATIC = [*PLAIN, "-static", "-Wl,--no-warnings"]
_CALL = re.compile(r'^(?:CALL|OPENS)\((\w+), "([^"]*)"|^([A-Z_]+)\((\w+),', re.MULTILINE)
_MACRO = re.compile(r'#define (\w+)\(name, call\)[\s\\]*CALL\(name, "([^"]*)"')


@dataclass(frozen=True, slots=True)
class Expected:
    """What the trace must have of a file; all else is nothing."""

    file: str = "data"
    is_there: bool = True
    opens: int = 0
    creates: int = 0
    writes: int = 0
    layers: Mapping[str, int] = field(default_factory=dict)
    end: int = 0
    sizes: tuple[int, ...] = ()  # of the writes, as powers of two
    reads: int = 0
    read_bytes: int = 0
    size: int | None = None
    set: int = 0
    flags: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    apis: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    expected: Expected
    source: str
    options: tuple[str, ...]
    note: str = ""
    is_seen: bool = True

    @property
    def id(self) -> str:
        return f"{Path(self.source).stem}-{'static-' * ('-static' in self.options)}{self.name}"

    @property
    def title(self) -> str:
        return f"`{self.name}`{self.note}"


@dataclass(frozen=True, slots=True)
class Result:
    """Of one call: the runs, and the file in their traces."""

    plain: Seen
    traced: Seen
    with_events: Seen
    counted: FileTrace | None
    recorded: FileTrace | None
    size: int | None  # of the file in the end


def parse_expected(text: str) -> Expected:
    words = text.split()
    if words == ["none"]:
        return Expected(is_there=False)
    pairs = dict(word.split("=") for word in words)
    layers = {api: int(pairs.pop(api)) for api in APIS if api in pairs}
    sizes = tuple(int(n) for n in pairs.pop("sizes", "").split(",") if n)
    lists = {key: frozenset(pairs.pop(key, "").split(",")) - {""} for key in ("flags", "apis")}
    names = tuple(name for name in pairs.pop("names", "").split(",") if name)
    file = pairs.pop("file", "data")
    numbers = {key: int(value) for key, value in pairs.items()}
    return Expected(file=file, layers=layers, sizes=sizes, names=names, **lists, **numbers)


def calls_of(
    source: str, options: Iterable[str], note: str = "", is_seen: bool = True
) -> list[Call]:
    text = (HERE / source).read_text()
    macros = dict(_MACRO.findall(text))
    found = []
    for name, expected, macro, made in _CALL.findall(text):
        if macro and macro not in macros:
            continue
        told = macros[macro] if macro else expected
        found.append(
            Call(name or made, parse_expected(told), source, tuple(options), note, is_seen)
        )
    return found


def seen_calls() -> list[Call]:
    return [
        *calls_of("posix.c", PLAIN),
        *calls_of("stdio.c", PLAIN),
        *calls_of("checked.c", CHECKED, " in a checked build"),
    ]


def unseen_calls() -> list[Call]:
    static = [
        replace(call, expected=Expected(is_there=False))
        for call in calls_of("posix.c", STATIC, " in a static program", is_seen=False)
        if call.name in ("open", "write", "rename")
    ]
    inline = calls_of("inline.c", CHECKED, " inline, in an optimized build", is_seen=False)
    return [*calls_of("unseen.c", PLAIN, is_seen=False), *inline, *static]


class Runner:
    """Compiles each program once; runs one case without the library, with it, and with events."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mock = folder / "mock"
        self.counts = build_plan(folder / "counts" / "the.plan", self.mock, [])
        self.events = record_events(build_plan(folder / "events" / "the.plan", self.mock, []))

    def program(self, call: Call) -> Path:
        kind = "static" if "-static" in call.options else "shared"
        program = self.folder / f"{Path(call.source).stem}-{kind}"
        if not program.exists():
            command = [*call.options, str(HERE / call.source), "-o", str(program)]
            subprocess.run(command, check=True)
        return program

    def run(self, call: Call) -> Result:
        work = self.mock / "work"
        program = self.program(call)
        plain = run_case(program, call.name, work, {"PATH": "/usr/bin:/bin"})
        found = {}
        for plan in (self.counts, self.events):
            remove_traces(plan.parent)
            seen = run_case(program, call.name, work, shim_environment(plan))
            found[plan] = (seen, self._file(plan, work, call))
        sizes = [path.stat().st_size for path in work.glob(call.expected.file)]
        return Result(
            plain,
            found[self.counts][0],
            found[self.events][0],
            found[self.counts][1],
            found[self.events][1],
            sizes[0] if sizes else None,
        )

    def _file(self, plan: Path, work: Path, call: Call) -> FileTrace | None:
        pattern = str(work / call.expected.file)
        files = [
            file
            for trace in read_traces(plan.parent)
            for file in trace.files
            if fnmatch.fnmatchcase(file.path, pattern)
        ]
        assert len(files) <= 1, files
        return files[0] if files else None


ENDS = frozenset({"renamed", "unlinked"})


def assert_counted(file: FileTrace | None, expected: Expected) -> None:
    if not expected.is_there:
        assert file is None
        return
    assert file is not None, "the file is not in the trace"
    layers = {api: expected.layers.get(api, 0) for api in APIS}
    assert file.layer_bytes == layers, file
    assert (file.writes, file.write_end) == (expected.writes, expected.end), file
    assert sorted(n for n, times in file.sizes.items() for _ in range(times)) == list(
        expected.sizes
    )
    assert (file.reads, file.read_bytes) == (expected.reads, expected.read_bytes), file
    assert (file.opens, file.creates) == (expected.opens, expected.creates), file
    assert (file.size_bytes, file.set_bytes) == (expected.size, expected.set), file
    assert file.flags & ENDS == expected.flags & ENDS, file
    assert expected.flags <= file.flags, file
    assert tuple(Path(name).name for name in file.names) == expected.names, file
    used = {api for api, written in layers.items() if written}
    assert file.apis >= used | expected.apis, file


def assert_recorded(file: FileTrace | None, expected: Expected) -> None:
    """Each write is an event."""
    events = file.events if file else []
    below = sum(expected.layers.get(api, 0) for api in ("POSIX", "STDIO"))
    assert len(events) == expected.writes
    assert sum(event.length for event in events) == below
    ends = [event.offset + event.length for event in events if event.offset is not None]
    assert max(ends, default=0) == expected.end
    assert {event.api for event in events} == {
        api for api in ("POSIX", "STDIO") if expected.layers.get(api)
    }


def describe(files: Sequence[FileTrace]) -> str:
    """What the traces of its processes have of a file, in words."""
    parts = []
    if any(file.creates for file in files):
        parts.append("create")
    elif any(file.opens for file in files):
        parts.append("open")
    if any(file.comm[1] for file in files):
        parts.append("communicator")
    layers = [api for api in APIS if any(file.layer_bytes[api] for file in files)]
    if layers:
        parts.append(f"bytes written ({', '.join(layers)})")
    seen = {
        "bytes read": any(file.reads for file in files),
        "size asked for": any(file.set_bytes for file in files),
        "size at close": any(file.size_bytes is not None for file in files),
        "second name": any({"linked", "renamed"} & file.flags == {"linked"} for file in files),
        "rename": any("renamed" in file.flags for file in files),
        "removal": any("unlinked" in file.flags for file in files),
    }
    parts += [what for what, is_there in seen.items() if is_there]
    return ", ".join(parts) or "—"
