"""Checks by programs that everyone uses."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from posix_checks import Place, await_child, check, opened, pattern, raises, start_child

TIMEOUT_S = 60
GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "gc.auto=0"]


def run(*words: str, cwd: str = ".") -> str:
    done = subprocess.run(
        words, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


@check()
def programs_can_be_run(place: Place) -> None:
    shutil.copy("/bin/sleep", "program")
    with opened("program", os.O_RDONLY), subprocess.Popen([place.root / "program", "60"]) as child:
        with raises(errno.ETXTBSY):
            os.open("program", os.O_WRONLY)
        child.terminate()
    Path("script").write_text("#!/bin/sh\necho ran $1\n")
    with raises(errno.EACCES):
        os.execv("script", ["script"])
    os.chmod("script", 0o755)
    assert run("./script", "here") == "ran here\n"


@check()
def a_compiler_works_here(place: Place) -> None:
    Path("a.c").write_text('#include <stdio.h>\nint main(void) { return puts("built") < 0; }\n')
    run("gcc", "-c", "a.c", "-o", "a.o")
    run("gcc", "a.o", "-o", "a")
    assert run("./a") == "built\n"


@check()
def git_keeps_a_repository(place: Place) -> None:
    run("git", "init", "--quiet", "repo")
    for i in range(12):
        Path(f"repo/file{i}").write_bytes(pattern(5000 + 30_000 * i, i))
    run(*GIT, "add", ".", cwd="repo")
    run(*GIT, "commit", "--quiet", "-m", "first", cwd="repo")
    Path("repo/file3").write_text("changed\n")
    run(*GIT, "commit", "--quiet", "-a", "-m", "second", cwd="repo")
    run(*GIT, "gc", "--quiet", cwd="repo")
    run(*GIT, "fsck", "--strict", cwd="repo")
    assert run(*GIT, "status", "--porcelain", cwd="repo") == ""
    run("git", "clone", "--quiet", "repo", "copy")
    assert Path("copy/file3").read_text() == "changed\n"
    assert Path("copy/file11").read_bytes() == pattern(335_000, 11)


@check()
def sqlite_keeps_a_database(place: Place) -> None:
    modes = ["delete", "wal"] if place.shared_mappings else ["delete"]
    for mode in modes:
        name = f"{mode}.db"
        with closing(sqlite3.connect(name, timeout=30)) as base, base:
            assert base.execute(f"PRAGMA journal_mode={mode}").fetchone()[0] == mode
            base.execute("PRAGMA synchronous=OFF")
            base.execute("CREATE TABLE counts (who INTEGER, number INTEGER, filling BLOB)")

        def insert(who: int, name: str = name) -> None:
            with closing(sqlite3.connect(name, timeout=30)) as base:
                for i in range(10):
                    with base:
                        row = (who, i, pattern(3000, i))
                        base.execute("INSERT INTO counts VALUES (?, ?, ?)", row)

        for child in [start_child(lambda who=who: insert(who)) for who in range(2)]:
            await_child(child)
        with closing(sqlite3.connect(name, timeout=30)) as base, base:
            assert base.execute("SELECT count(*), sum(number) FROM counts").fetchone() == (20, 90)
            assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            base.execute("DELETE FROM counts WHERE who = 1")
        with closing(sqlite3.connect(name)) as base:
            base.execute("VACUUM")


def listing(folder: str) -> list[tuple[object, ...]]:
    """All that tar keeps of a tree."""
    found = []
    for path in sorted(Path(folder).rglob("*")):
        status = path.lstat()
        content: object = path.readlink() if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        found.append(
            (
                str(path.relative_to(folder)), status.st_mode, status.st_uid, status.st_nlink,
                status.st_mtime_ns, content,
            )
        )  # fmt: skip
    return found


@check()
def tar_makes_a_round_trip(place: Place) -> None:
    Path("tree/deep/deeper").mkdir(parents=True)
    Path("tree/file").write_bytes(pattern(1_234_567))
    Path("tree/deep/small").write_bytes(b"small")
    Path("tree/deep/deeper/empty").touch(0o600)
    os.link("tree/file", "tree/deep/hard")
    os.symlink("../file", "tree/deep/soft")
    os.mkfifo("tree/fifo")
    with opened("tree/sparse", os.O_CREAT | os.O_WRONLY) as fd:
        os.pwrite(fd, b"end", 3_000_000)
    os.utime("tree/file", ns=(10**18, 10**18 + 123_456_789))
    os.mkdir("back")
    run("tar", "--format=posix", "--sparse", "-cf", "tree.tar", "tree")
    run("tar", "-xpf", "tree.tar", "-C", "back")
    assert listing("back/tree") == listing("tree")
    run("cp", "-a", "tree", "copy")
    assert listing("copy") == listing("tree")
    run("rm", "-rf", "copy", "back")
    assert sorted(os.listdir()) == ["tree", "tree.tar"]


@check()
def output_is_redirected_by_several_writers(place: Place) -> None:
    script = "for i in 1 2 3; do for j in $(seq 50); do echo $i $j; done >> out & done; wait"
    run("sh", "-c", script)
    lines = Path("out").read_text().splitlines()
    assert sorted(lines) == sorted(f"{i} {j}" for i in (1, 2, 3) for j in range(1, 51))
    run("sh", "-c", f"{sys.executable} -c 'print(1)' > one; cat one one > two")
    assert Path("two").read_text() == "1\n1\n"
