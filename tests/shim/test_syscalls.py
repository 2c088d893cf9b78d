"""System calls of a create: three for a planned file, one for any other, one more to find where a
relative name is. Counted by strace, after a first create that also makes the trace file."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import shim_environment

PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char stack[4096];
    const char *folder = argv[1];
    (void)argc;
    int parent = open(folder, O_RDONLY | O_DIRECTORY);
    snprintf(stack, sizeof stack, "%s/warm", folder);
    close(open(stack, O_CREAT | O_WRONLY, 0644));
    char *heap = malloc(200);
    for (int i = 0; argv[2][i]; i++) {
        chdir(folder);
        snprintf(stack, sizeof stack, "%s/file%d", folder, i);
        strcpy(heap, stack);
        access("/begin", 0);
        int fd = -1;
        switch (argv[2][i]) {
        case 's': fd = open(stack, O_CREAT | O_WRONLY, 0644); break;
        case 'h': fd = open(heap, O_CREAT | O_WRONLY | O_EXCL, 0644); break;
        case 'a': fd = openat(AT_FDCWD, stack, O_CREAT | O_WRONLY, 0644); break;
        case 'r': fd = open("relative", O_CREAT | O_WRONLY, 0644); break;
        case 'd': fd = openat(parent, "by-dirfd", O_CREAT | O_WRONLY, 0644); break;
        case 'o': fd = open(stack, O_RDONLY); break;
        case 'f': fd = fileno(fopen(stack, "w")); break;
        }
        access("/end", 0);
        close(fd);
    }
    return 0;
}
"""
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    source = folder / "creates.c"
    source.write_text(PROGRAM)
    command = ["gcc", "-w", "-O1", "-D_GNU_SOURCE", str(source), "-o", str(folder / "creates")]
    subprocess.run(command, check=True)
    return folder / "creates"


def calls_of(
    program: Path, kinds: str, folder: Path, environ: dict[str, str], trace: Path
) -> list[list[str]]:
    """The names of the system calls in each create."""
    command = ["strace", "-o", str(trace), str(program), str(folder), kinds]
    subprocess.run(command, env=environ, check=True, timeout=60)
    found = re.findall(r'access\("/begin".*?\n(.*?)access\("/end"', trace.read_text(), re.DOTALL)
    return [re.findall(r"^(\w+)\(", text, re.MULTILINE) for text in found]


HIT = ["openat", "fsetxattr", "fgetxattr"]


@pytest.mark.parametrize("bind_now", [{}, {"LD_BIND_NOW": "1"}], ids=["lazy", "now"])
def test_a_planned_create_makes_three_calls(
    bind_now: dict[str, str], program: Path, tmp_path: Path, mock_plan: Build
) -> None:
    work = tmp_path / "mock"
    work.mkdir()
    plan = mock_plan(work, [(f"{work}/**", 2, "1M", "3 1", "")])
    environ = shim_environment(plan, **bind_now)
    calls = calls_of(program, "shard", work, environ, tmp_path / "trace")
    assert calls == [HIT, HIT, HIT, ["getcwd", *HIT], ["readlinkat", *HIT]]


def test_a_create_that_is_not_planned_makes_one_call(
    program: Path, tmp_path: Path, mock_plan: Build
) -> None:
    work = tmp_path / "mock"
    work.mkdir()
    plan = mock_plan(work, [(f"{work}/other/**", 2, "1M", "3 1", "")])
    calls = calls_of(program, "shardo", work, shim_environment(plan), tmp_path / "trace")
    one = ["openat"]
    assert calls == [one, one, one, ["getcwd", *one], ["readlinkat", *one], one]


def test_a_create_elsewhere_makes_one_call(program: Path, tmp_path: Path, mock_plan: Build) -> None:
    watched, work = tmp_path / "mock", tmp_path / "elsewhere"
    watched.mkdir()
    work.mkdir()
    plan = mock_plan(watched, [(f"{watched}/**", 2, "1M", "3 1", "")])
    calls = calls_of(program, "sha", work, shim_environment(plan), tmp_path / "trace")
    assert calls == [["openat"]] * 3


def test_a_disabled_library_makes_no_call_of_its_own(
    program: Path, tmp_path: Path, mock_plan: Build
) -> None:
    work = tmp_path / "mock"
    work.mkdir()
    plan = mock_plan(work, [(f"{work}/**", 2, "1M", "3 1", "")])
    plain = calls_of(program, "shardof", work, dict(os.environ), tmp_path / "plain")
    for file in work.iterdir():
        file.unlink()
    environ = shim_environment(plan, IEZ_DISABLE="1")
    assert calls_of(program, "shardof", work, environ, tmp_path / "trace") == plain


def test_the_first_create_of_a_process_makes_few_calls(
    program: Path, tmp_path: Path, mock_plan: Build
) -> None:
    """It also makes the trace file: opened, allocated, mapped, closed."""
    work = tmp_path / "mock"
    work.mkdir()
    plan = mock_plan(work, [(f"{work}/**", 2, "1M", "3 1", "")])
    calls_of(program, "", work, shim_environment(plan), tmp_path / "trace")
    text = (tmp_path / "trace").read_text()
    first = text[text.index("/warm") :].splitlines()[1:]
    names = [line.partition("(")[0] for line in first]
    assert "exit_group" in names
    assert names.index("exit_group") <= 16, names
