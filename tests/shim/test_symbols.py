"""The built library from outside: what it exports, what it needs."""

import re
import subprocess
from pathlib import Path

import pytest

HOOKS = Path(__file__).parent.parent.parent / "csrc" / "hooks.def"
MUSL = (Path("/lib/ld-musl-x86_64.so.1"), Path("/usr/lib/musl/lib/libc.so"))
# Provided by the linker or the compiler's start files, not by a libc.
WEAK = {"_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__gmon_start__"}


def hooks() -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", HOOKS.read_text(), flags=re.DOTALL)
    return set(re.findall(r"^\s*(?:LIBC|LATE|CALLER|MADE)_HOOK\((\w+)\)", text, re.MULTILINE))


def symbols(library: Path, *options: str) -> list[str]:
    """The names that `nm` prints, with their versions."""
    done = subprocess.run(
        ["nm", "-D", *options, str(library)], capture_output=True, text=True, check=True
    )
    return [line.split()[-1] for line in done.stdout.splitlines() if line.strip()]


def readelf(library: Path, option: str) -> str:
    done = subprocess.run(
        ["readelf", "-W", option, str(library)], capture_output=True, text=True, check=True
    )
    return done.stdout


def undefined(library: Path) -> set[str]:
    return {name.partition("@")[0] for name in symbols(library, "--undefined-only")} - WEAK


def test_the_exports_are_the_hooks(shim_library: Path) -> None:
    assert len(hooks()) > 25
    assert set(symbols(shim_library, "--defined-only")) == hooks()  # a version would show as @


def test_every_hook_has_a_case() -> None:
    """What is wrapped is called by a program of the tests."""
    folder = Path(__file__).parent.parent
    sources = [*folder.rglob("*.c"), *folder.rglob("*.py"), *folder.rglob("*.f90")]
    texts = "\n".join(source.read_text() for source in sources).lower()
    called = {name: re.sub(r"(_f08)?_*$", "", name.lower()) for name in hooks()}
    assert not {name for name, call in called.items() if not re.search(rf"\b{call}\b", texts)}


def test_no_symbol_of_python(shim_library: Path) -> None:
    assert not [name for name in symbols(shim_library) if name.lstrip("_").startswith("Py")]


def test_libc_is_all_that_it_needs(shim_library: Path) -> None:
    needed = re.findall(r"NEEDED.*\[(.*)\]", readelf(shim_library, "-d"))
    assert needed == ["libc.so.6"]


def test_every_symbol_is_in_musl_too(shim_library: Path) -> None:
    """Programs that are linked to musl load the library as well."""
    musl = next((path for path in MUSL if path.exists()), None)
    assert musl, "musl is not installed"
    known = {name.partition("@")[0] for name in symbols(musl, "--defined-only")}
    assert not undefined(shim_library) - known


def test_thread_local_storage_is_never_allocated_late(shim_library: Path) -> None:
    assert not {name for name in undefined(shim_library) if "tls_get_addr" in name}
    flags = readelf(shim_library, "-d")
    assert "STATIC_TLS" in flags
    relocations = readelf(shim_library, "-r")
    assert "DTPMOD" not in relocations
    assert "TLSDESC" not in relocations


def test_everything_is_bound_at_the_start(shim_library: Path) -> None:
    """The first call of a function in a signal handler must not enter the linker."""
    assert re.search(r"BIND_NOW|Flags: NOW", readelf(shim_library, "-d"))
    assert "TEXTREL" not in readelf(shim_library, "-d")
    stack = next(line for line in readelf(shim_library, "-l").splitlines() if "GNU_STACK" in line)
    assert "RWE" not in stack


@pytest.mark.parametrize("name", ["malloc", "calloc", "free", "printf", "abort", "exit", "pthread"])
def test_nothing_dangerous_is_called(name: str, shim_library: Path) -> None:
    assert not {symbol for symbol in undefined(shim_library) if symbol.startswith(name)}
