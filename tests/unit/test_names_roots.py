"""Roots: the words of a command under symbols that stay when the words change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_client.names import Roots, roots_of


def of(command: str, directory: str = "/home/u") -> Roots:
    return roots_of(command.split(), directory)


@pytest.mark.parametrize(
    ("command", "path", "split"),
    [
        ("a --out /l/x", "/l/x/ckpt_1.h5", ("{--out}", "/ckpt_1.h5")),
        ("a --out=/l/x", "/l/x/ckpt_1.h5", ("{--out}", "/ckpt_1.h5")),
        ("a -o/l/x", "/l/x/y", ("{-o}", "/y")),
        ("a -o /l/testFile", "/l/testFile.00000003", ("{-o}", ".00000003")),
        ("a -o /l/testFile", "/l/testFile", ("{-o}", "")),
        ("a -o /l/testFile", "/l/testFile2", ("", "/l/testFile2")),
        ("a -o /l/testFile", "/l/testFileX/y", ("", "/l/testFileX/y")),
        ("a --prefix /l/run_", "/l/run_7.h5", ("{--prefix}", "7.h5")),
        ("a --out out", "/home/u/out/x", ("{--out}", "/x")),
        ("a --out ../out/", "/home/out/x", ("{--out}", "/x")),
        ("a --out .", "/home/u/x", ("{--out}", "/x")),
        ("a --quiet", "/home/u/x", ("{cwd}", "/x")),
        ("a in.nml /l/d", "/l/d/x", ("{2}", "/x")),
        ("a of=/l/d", "/l/d/x", ("{of=}", "/x")),
        ("a --base /l --out /l/d", "/l/d/x", ("{--out}", "/x")),
        ("a --in /l/d --out /l/d", "/l/d/x", ("{--out}", "/x")),
        ("a -x /l/a -x /l/b", "/l/b/x", ("{-x.2}", "/x")),
        ("a 3", "/home/u/3.dat", ("{cwd}", "/3.dat")),
        ("a --out /", "/x", ("", "/x")),
        ("mpirun -n 2 a : -n 2 b --out /l/d", "/l/d/x", ("{2:--out}", "/x")),
        ("mpirun -wdir /l/w -n 2 a --out d", "/l/w/d/x", ("{--out}", "/x")),
        ("python /l/scripts/a.py", "/l/scripts/x", ("", "/l/scripts/x")),
    ],
)
def test_longest_word_at_a_border_is_the_root(
    command: str, path: str, split: tuple[str, str]
) -> None:
    roots = of(command)
    assert roots.split(path) == split
    assert roots.join(*split) == path


def test_empty_word_is_no_root() -> None:
    assert roots_of(["a", "--out", ""], "/home/u").split("/home/u/x") == ("{cwd}", "/x")


@pytest.mark.parametrize(
    ("text", "path", "split"),
    [
        ("cd run_7 && ./a --out d", "/home/u/run_7/d/x", ("{--out}", "/x")),
        ("cd run_7 && cd b; ./a", "/home/u/run_7/b/x", ("{cwd}", "/x")),
        ("cd /l/w && mpirun -wdir sub -n 2 ./a", "/l/w/sub/x", ("{cwd}", "/x")),
        ("cd $WORK && ./a --out d", "/home/u/d/x", ("{--out}", "/x")),
    ],
)
def test_shell_that_changes_its_directory_takes_the_roots_along(
    text: str, path: str, split: tuple[str, str]
) -> None:
    assert roots_of(["bash", "-c", text], "/home/u").split(path) == split
    assert roots_of(["mpirun", "-n", "2", "bash", "-c", text], "/home/u").split(path) == split


def test_same_symbol_leads_to_the_directory_of_another_run() -> None:
    symbol, rest = of("a --out /scratch/job.1/x").split("/scratch/job.1/x/c.0")
    assert of("a --out /scratch/job.2/y").join(symbol, rest) == "/scratch/job.2/y/c.0"
    assert of("a --other /scratch/job.2/y").join(symbol, rest) is None


@given(st.lists(st.text("ab/.-=", max_size=5), max_size=4), st.text("ab/.\udcff", max_size=8))
def test_what_is_split_can_be_joined(words: list[str], name: str) -> None:
    roots = roots_of(["a", *words], "/a")
    path = "/a" + name
    symbol, rest = roots.split(path)
    assert roots.join(symbol, rest) == path
