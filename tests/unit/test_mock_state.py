"""The mock state file: what it can say, and what is said about a bad one."""

import re
from pathlib import Path

import pytest

from iez_common.errors import IezError, InputError, MockStateError
from iez_common.mock import INJECTIONS, STATES, MockState, default_state, read_state, state_of

GIB = 1 << 30
DOCS = Path(__file__).parents[2] / "docs" / "mock.md"


def state(tmp_path: Path, text: str) -> MockState:
    file = tmp_path / "iez-mock.toml"
    file.write_text(text)
    return read_state(file)


def test_without_a_file_there_are_15_osts_on_3_servers(tmp_path: Path) -> None:
    found = state_of(tmp_path)
    assert found == default_state()
    assert [ost.index for ost in found.osts] == list(range(15))
    assert [ost.oss for ost in found.osts] == [0] * 5 + [1] * 5 + [2] * 5
    assert {ost.size_bytes for ost in found.osts} == {10 * GIB}
    assert not any(ost.states for ost in found.osts)
    assert (found.inject, found.inject_errno) == ("", 0)


def test_an_empty_file_says_the_same(tmp_path: Path) -> None:
    assert state(tmp_path, "") == default_state()


def test_a_file_in_the_directory_is_found_and_another_one_beats_it(tmp_path: Path) -> None:
    (tmp_path / "iez-mock.toml").write_text("osts = 2")
    (tmp_path / "other.toml").write_text("osts = 3")
    assert len(state_of(tmp_path).osts) == 2
    assert len(state_of(tmp_path, tmp_path / "other.toml").osts) == 3
    with pytest.raises(InputError, match=r"none\.toml: no such file"):
        state_of(tmp_path, tmp_path / "none.toml")


def test_sets_of_osts_may_have_holes(tmp_path: Path) -> None:
    found = state(tmp_path, 'osts = "0-2,7,300"\noss_count = 2\n[[ost]]\nindex = 9\noss = 1\n')
    assert [(ost.index, ost.oss) for ost in found.osts] == [
        (0, 0), (1, 0), (2, 0), (7, 1), (9, 1), (300, 1),
    ]  # fmt: skip


def test_each_ost_can_be_described(tmp_path: Path) -> None:
    found = state(
        tmp_path,
        'ost_size = "1T"\nost_used = "1G"\nstate = "degraded"\n'
        '[[ost]]\nindex = 3\nsize = "2T"\nused = "1.5T"\nstate = ["full", "no-create"]\n'
        "[[ost]]\nindex = 4\nstate = []\n",
    )
    third, fourth, other = found.osts[3], found.osts[4], found.osts[5]
    assert (third.size_bytes, third.available_bytes) == (2048 * GIB, 512 * GIB)
    assert third.states == {"full", "no-create"}
    assert (fourth.states, fourth.size_bytes) == (frozenset(), 1024 * GIB)
    assert (other.states, other.used_bytes) == ({"degraded"}, GIB)


def test_an_ost_without_space_is_full(tmp_path: Path) -> None:
    found = state(
        tmp_path,
        '[[ost]]\nindex = 0\nused = "10G"\n[[ost]]\nindex = 1\nused = 10736369664\n'
        '[[ost]]\nindex = 2\nused = "9G"\n',
    )
    assert [sorted(ost.states) for ost in found.osts[:3]] == [["full"], ["full"], []]


@pytest.mark.parametrize("name", ["silent", *INJECTIONS])
def test_every_answer_can_be_injected(tmp_path: Path, name: str) -> None:
    found = state(tmp_path, f'inject = "{name}"')
    assert found.inject == name
    assert (found.inject_errno > 0) == (name != "silent")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("osts = \n", "line 1"),
        ("ost_count = 3\n", "line 1: ost_count: no such setting"),
        ("\nosts = 0\n", "line 2: osts: is neither a number nor a set"),
        ('osts = "5-3"\n', "line 1: osts: '5-3' counts backwards"),
        ("osts = 3\noss_count = 4\n", "line 2: oss_count: 4 is not between 1 and 3"),
        ("osts = 3\noss_count = true\n", "line 2: oss_count: is not a whole number"),
        ('ost_size = "big"\n', "line 1: ost_size: 'big' is not a size"),
        ("ost_size = 1.5\n", "line 1: ost_size: is not a size"),
        ('state = "broken"\n', "line 1: state: 'broken' is not a state"),
        ("state = 3\n", "line 1: state: is not a list of texts"),
        ('inject = "EPERM"\n', "line 1: inject: 'EPERM' cannot be injected"),
        ("inject = 28\n", "line 1: inject: is not a text"),
        ("[ost]\nindex = 3\n", "line 1: ost: is not a list of tables"),
        ("[[ost]]\nstate = []\n", "line 2: state: this .* has no index"),
        ("[[ost]]\nindex = 1\n[[ost]]\nindex = -1\n", "line 4: index: -1 is not between"),
        ("[[ost]]\nindex = 1\n[[ost]]\nindex = 1\n", "line 4: index: OST 1 has two"),
        ("[[ost]]\nindex = 1\nsice = 3\n", "line 3: sice: no such setting"),
        ('[[ost]]\nindex = 1\nused = "11G"\n', "OST 1 uses 11811160064 of 10737418240"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(MockStateError, match=rf"iez-mock\.toml.*{words}") as caught:
        state(tmp_path, text)
    assert "\n" not in caught.value.message
    assert caught.value.hint or "between" in words or "size" in words or "backwards" in words


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "iez-mock.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(IezError, match="not UTF-8"):
        state_of(tmp_path)


def test_the_documented_example_is_complete_and_valid(tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    whole = next(block for block in blocks if "[[ost]]" in block)
    found = state(tmp_path, whole)
    assert len(found.osts) > 1
    text = DOCS.read_text()
    for word in (*STATES, *INJECTIONS, "silent"):
        assert word in text, word
