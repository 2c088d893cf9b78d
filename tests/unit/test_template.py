"""Templates: what the user's text means, and that what can never match is refused."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_client.plan.template import (
    ALNUM,
    DIRECTORY,
    NUMBER,
    REST,
    Node,
    Segment,
    Tree,
    decode,
    encode,
    escape,
    parse,
)
from iez_common.errors import SourceError


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("/a/b.dat", (b"/a/b.dat",)),
        ("/a/ckpt_#.h5", (b"/a/ckpt_", NUMBER, b".h5")),
        ("/a/part-#-of-#", (b"/a/part-", NUMBER, b"-of-", NUMBER)),
        ("/a/tmp*", (b"/a/tmp", ALNUM)),
        ("/a/*", (b"/a/", ALNUM)),
        ("/a/*/b", (b"/a/", DIRECTORY, b"/b")),
        ("/a/*x/b", None),
        ("/a/job.*/b", (b"/a/job.", ALNUM, b"/b")),
        ("/a/#*/b", (b"/a/", NUMBER, ALNUM, b"/b")),
        ("/a/**", (b"/a/", REST)),
        ("/**", (b"/", REST)),
        ("/*/*/x", (b"/", DIRECTORY, b"/", DIRECTORY, b"/x")),
        (r"/a/\#1", (b"/a/#1",)),
        (r"/a/\*/b", (b"/a/*/b",)),
        (r"/a/\*\*", (b"/a/**",)),
        (r"/a/\\#", (b"/a/\\", NUMBER)),
        (r"/a/#\#", (b"/a/", NUMBER, b"#")),
        ("//a///b/./c/../d#", (b"/a/b/d", NUMBER)),
        ("/a/*/../b", (b"/a/b",)),
        ("/a/\udcff#", (b"/a/\xff", NUMBER)),
        ("/a/ü#", (b"/a/\xc3\xbc", NUMBER)),
    ],
)
def test_text_becomes_segments(text: str, segments: tuple[Segment, ...] | None) -> None:
    if segments is None:
        with pytest.raises(SourceError, match="nothing could match"):
            parse(text)
    else:
        assert parse(text).segments == segments


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("/a\0b", "NUL"),
        ("/", "directory's name"),
        ("/a/", "directory's name"),
        ("/a/#/", "directory's name"),
        ("/a/**/b", "only be the last"),
        ("/a/x**", "nothing could match"),
        ("/a/##", "nothing could match"),
        ("/a/*#", "nothing could match"),
        ("/a/#0.h5", "nothing could match"),
        ("/a/*b", "nothing could match"),
        (r"/a/\n", "is no escape"),
        ("/a/b\\", "is no escape"),
        ("/" + "x" * 4096, "longer than"),
        ("/" + "#-" * 17, "more than 16 fields"),
    ],
)
def test_text_that_could_never_match_is_refused(text: str, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        parse(text)


def test_a_relative_name_is_below_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "run#1*"
    odd.mkdir()
    monkeypatch.chdir(odd)
    name = parse("../x/ckpt_#")
    assert name.segments == (encode(f"{tmp_path}/x/ckpt_"), NUMBER)
    # The directory's own # and * are no fields.
    assert parse("f").path == encode(f"{odd}/f")


def test_a_relative_name_in_a_directory_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SourceError, match="is gone"):
        parse("f")
    assert parse("/a/f").path == b"/a/f"


NAMES = st.text(
    st.characters(blacklist_characters="\0/", blacklist_categories=["Cs"])
    | st.sampled_from("#*\\.")
    | st.integers(0xDC80, 0xDCFF).map(chr),
    min_size=1,
    max_size=12,
).filter(lambda text: text not in (".", ".."))


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_an_escaped_path_is_that_path(names: list[str]) -> None:
    path = "/" + "/".join(names)
    assert parse(escape(path)).path == encode(path)


@given(st.binary(max_size=40))
def test_any_bytes_survive_as_text(name: bytes) -> None:
    assert encode(decode(name)) == name


def test_number_fields_are_counted_among_all_fields() -> None:
    name = parse("/a/*/run_*-#/part#")
    assert name.fields == (DIRECTORY, ALNUM, NUMBER, NUMBER)
    assert name.numbers == (2, 3)
    assert name.head == b"/a/"


def leaves(node: Node, before: tuple[Segment, ...] = ()) -> dict[tuple[Segment, ...], int]:
    """Every template of a tree, literals joined again."""
    found = {}
    if node.choice != 0xFFFFFFFF:
        found[before] = node.choice
    for child in node.children():
        path = before
        if child.edge:
            path = (*before, child.edge)
        elif before and isinstance(before[-1], bytes):
            path = (*before[:-1], before[-1] + child.text)
        else:
            path = (*before, child.text)
        found |= leaves(child, path)
    return found


SEGMENTS = st.lists(
    st.text("ab", min_size=1, max_size=4).map(os.fsencode) | st.sampled_from([NUMBER, ALNUM]),
    min_size=1,
    max_size=5,
).map(lambda parts: parse_like(parts))


def parse_like(parts: list[Segment]) -> tuple[Segment, ...]:
    """Joins neighbouring literals, as parse does."""
    joined: list[Segment] = []
    for part in parts:
        if isinstance(part, bytes) and joined and isinstance(joined[-1], bytes):
            joined[-1] += part
        else:
            joined.append(part)
    return tuple(joined)


@given(st.sets(SEGMENTS, max_size=20))
def test_the_tree_holds_exactly_what_was_added(templates: set[tuple[Segment, ...]]) -> None:
    tree = Tree()
    numbered = {segments: number for number, segments in enumerate(templates)}
    for segments, number in numbered.items():
        tree.add(segments, number)
    assert leaves(tree.root) == numbered


def test_literals_that_begin_alike_share_their_beginning() -> None:
    tree = Tree()
    for number, text in enumerate([b"/lustre/abc", b"/lustre/abd", b"/lustre/ab"]):
        tree.add((text,), number)
    (top,) = tree.root.children()
    assert (top.text, top.choice) == (b"/lustre/ab", 2)
    assert [child.text for child in top.children()] == [b"c", b"d"]
