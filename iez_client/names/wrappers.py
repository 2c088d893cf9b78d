"""Wrappers: the words of one program in, its name and its own arguments out.

Set aside are programs that only start another (`env`, `time`, `numactl`, …), and interpreters: the
script is the program then.
"""

# Lists of options are easier to read as texts.
# ruff: noqa: SIM905

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Program:
    """A program, whatever it was started through."""

    name: str  # base name of the program or script
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """How its own words end."""

    one: frozenset[str] = frozenset()  # options that take the next word
    words: int = 0  # further words before the program
    assignments: bool = False  # NAME=VALUE words before the program


def _wrapper(one: str = "", words: int = 0, assignments: bool = False) -> _Wrapper:
    return _Wrapper(frozenset(one.split()), words, assignments)


_CONTAINER = """-B --bind -H --home --pwd --cwd --env --env-file -S --scratch -W --workdir --overlay
    -o --network --security --add-caps --drop-caps --hostname --fusemount --mount --apply-cgroups"""
_WRAPPERS = {
    "env": _wrapper("-u --unset -C --chdir", assignments=True),
    "time": _wrapper("-f --format -o --output"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c --class -n --classdata"),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "exec": _wrapper("-a"),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "timeout": _wrapper("-k --kill-after -s --signal", words=1),
    "numactl": _wrapper(
        """-i --interleave -p --preferred -P --preferred-many -m --membind -N --cpunodebind
        -C --physcpubind -w --weighted-interleave"""
    ),
    "taskset": _wrapper(words=1),
    "chrt": _wrapper("-T --sched-runtime -P --sched-period -D --sched-deadline", words=1),
    "catchsegv": _wrapper(),
    "gdb": _wrapper("-ex -x --command -iex --eval-command"),
    "valgrind": _wrapper(),
    "strace": _wrapper("-a -b -e -E -I -o -O -p -P -s -S -u -U -X"),
    "ltrace": _wrapper("-a -A -D -e -F -l -n -o -p -s -u -w -x"),
    "shifter": _wrapper("-i --image -V --volume -e --env -m --module -w --workdir --entrypoint"),
}
_CONTAINERS = ("singularity", "apptainer")
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")
_NOT_ONE_COMMAND = re.compile(r"[;&|<>()`$\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PYTHON = re.compile(r"(?:python|pypy)w?[0-9.]*")
_JAVA_ONE = frozenset(
    "-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports".split()
)
_SCRIPT_ONE = {  # options of interpreters that take the next word
    "perl": frozenset(("-I",)),
    "ruby": frozenset("-I -r -C -E".split()),
    "Rscript": frozenset(),
    "julia": frozenset("-p --procs -t --threads -L --load -J --sysimage -H --home -C".split()),
    "node": frozenset("-r --require --import --loader".split()),
    **dict.fromkeys(_SHELLS, frozenset(("-o", "-O", "+O", "--rcfile", "--init-file"))),
}
_CODE = ("-e", "-E", "--eval", "-p", "--print")  # the program is the next word itself
_PYTHON_ONE = frozenset("-X -W --check-hash-based-pycs".split())
_RUNNERS = frozenset("mpi4py mpi4py.run mpi4py.futures cProfile profile pdb".split())
_RUNNER_ONE = frozenset("-o --outfile -s --sort -rc".split())


def program_of(words: list[str]) -> Program:
    """The script of an interpreter, else the program itself."""
    if not words:
        return Program("", ())
    return _interpreted(words) or Program(base_name(words[0]), tuple(words[1:]))


def base_name(word: str) -> str:
    return PurePosixPath(word).name or word


def unwrapped(words: list[str]) -> list[str]:
    """The words without the first wrapper; empty if there is none, or nothing behind it."""
    if not words:
        return []
    name = base_name(words[0])
    if _ASSIGNMENT.match(words[0]) and "/" not in words[0].partition("=")[0]:
        return words[1:]  # of a shell's text
    if name in _CONTAINERS and words[1:2] and words[1] in ("exec", "run"):
        return words[2 + _skipped(words[2:], _wrapper(_CONTAINER, words=1)) :]
    if name in _SHELLS:
        return _one_command(words)
    if name == "env" and "-S" in words[1:2]:
        return [*_split(words[2]), *words[3:]] if len(words) > 2 else []
    known = _WRAPPERS.get(name)
    return words[1 + _skipped(words[1:], known) :] if known else []


def _skipped(words: list[str], wrapper: _Wrapper) -> int:
    """How many words are the wrapper's own, itself not counted."""
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        word = words[at]
        at += 2 if word in wrapper.one else 1
        if word in ("--", "--args"):
            break
    if wrapper.assignments:
        while at < len(words) and _ASSIGNMENT.match(words[at]):
            at += 1
    return min(at + wrapper.words, len(words))


def _one_command(words: list[str]) -> list[str]:
    """The words of `sh -c TEXT`, if the text is one command."""
    text = _shell_text(words)
    if text is None or _NOT_ONE_COMMAND.search(text):
        return []
    return _split(text)


def _shell_text(words: list[str]) -> str | None:
    for at, word in enumerate(words[1:-1], 1):
        if not word.startswith("-"):
            return None
        if re.fullmatch(r"-[a-z]*c[a-z]*", word):
            return words[at + 1]
    return None


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # quotes that do not end
        return text.split()


def _interpreted(words: list[str]) -> Program | None:
    """The script of an interpreter; None where the program is none, or has no script."""
    name = base_name(words[0])
    if _PYTHON.fullmatch(name):
        return _python(words)
    if name == "java":
        return _java(words)
    if name not in _SCRIPT_ONE:
        return None
    text = _shell_text(words) if name in _SHELLS else None
    if text is not None:
        return Program(name, ("-c", *text.split()))
    at = 1
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at] in _CODE and name not in _SHELLS and words[at] not in _SCRIPT_ONE[name]:
            return Program(name, (words[at], *" ".join(words[at + 1 :]).split()))
        at += 2 if words[at] in _SCRIPT_ONE[name] else 1
    return Program(base_name(words[at]), tuple(words[at + 1 :])) if at < len(words) else None


def _python(words: list[str]) -> Program | None:
    at = 1
    one = _PYTHON_ONE
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        word = words[at]
        switch = re.fullmatch(r"-([A-VY-Zabd-lnop-z]*)([cm])(.*)", word)  # -um works, too
        if switch:
            value, rest = switch[3], words[at + 1 :]
            if not value:
                value, rest = (rest[0], rest[1:]) if rest else ("", [])
            if switch[2] == "c":
                return Program(base_name(words[0]), ("-c", *value.split(), *rest))
            if value not in _RUNNERS:
                return Program(value, tuple(rest))
            one |= _RUNNER_ONE
            words, at = [words[0], *rest], 1
            continue
        at += 2 if word in one else 1
    return Program(base_name(words[at]), tuple(words[at + 1 :])) if at < len(words) else None


def _java(words: list[str]) -> Program | None:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-jar", "-m", "--module"):
            at += 1
            break
        at += 2 if words[at] in _JAVA_ONE else 1
    return Program(base_name(words[at]), tuple(words[at + 1 :])) if at < len(words) else None
