"""The plan file: what is built is found, what is not is not, and no damage does harm."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iez_client.filesystems import FileSystem, Ost, from_list
from iez_client.plan.bind import bind, rebind, write_plan
from iez_client.plan.build import empty_plan
from iez_client.plan.compile import compile_draft
from iez_client.plan.draft import Draft, Rule
from iez_client.plan.read import Plan, read_plan
from iez_client.plan.template import (
    ALNUM,
    DIRECTORY,
    NUMBER,
    REST,
    Name,
    encode,
    escape,
    parse,
)
from iez_common._core import ffi, lib
from iez_common.errors import (
    InputError,
    OutputError,
    PlanError,
    SourceError,
    UnknownOstError,
)
from iez_common.layout import Component, Layout, plain

ROOT = Path(__file__).parents[2]
LUSTRE = from_list(Path("/l"), range(15))
ONE = plain(1, 1 << 20, (1,))
TWO = plain(1, 1 << 20, (2,))


def drafted(names: dict[str, Layout], *file_systems: FileSystem) -> Draft:
    draft = Draft(file_systems=file_systems)
    for line, (text, layout) in enumerate(names.items(), 1):
        draft.add_name(parse(text), draft.add_layout(layout), line)
    return draft


def planned(names: dict[str, Layout], *file_systems: FileSystem) -> Plan:
    systems = file_systems or (LUSTRE,)
    return Plan(bind(compile_draft(drafted(names, *systems)), systems, 1000), "test")


def names_of(alphabet: str) -> st.SearchStrategy[str]:
    texts = st.text(st.sampled_from(alphabet), min_size=1, max_size=6)
    return texts.filter(lambda text: text not in (".", ".."))


PATHS = st.lists(names_of("ab1#*\\.\udcff"), min_size=1, max_size=4).map(
    lambda n: "/l/" + "/".join(n)
)


@given(st.sets(PATHS, min_size=1, max_size=30), st.sets(PATHS, max_size=30))
def test_exact_paths_are_found_and_no_others(inside: set[str], outside: set[str]) -> None:
    plan = planned({escape(path): ONE for path in inside})
    for path in inside:
        found = plan.find(encode(path))
        assert (found.layout, found.template, found.prefix) == (ONE, "", "/l")
    for path in outside - inside:
        assert plan.find(encode(path)).layout is None
    for path in inside:
        assert not plan.find(encode("/other" + path)).prefix
        assert plan.find(encode(path) + b"x").layout is None or path + "x" in inside


KIND_PATTERN = {
    NUMBER: rb"[0-9]++",
    ALNUM: rb"[0-9A-Za-z]++",
    DIRECTORY: rb"[^/]++(?=/)",
    REST: rb"(?s:.+)",
}


def order_of(name: Name, path: bytes) -> tuple[int, ...] | None:
    """What a template takes from `path` step by step, 0 for each literal byte; None: no match.
    The template with the smallest such tuple is the one to choose."""
    pattern = b"".join(
        re.escape(part) if isinstance(part, bytes) else KIND_PATTERN[part] for part in name.segments
    )
    if not re.fullmatch(pattern, path):
        return None
    steps: list[int] = []
    for part in name.segments:
        steps += [0] * len(part) if isinstance(part, bytes) else [part]
    return tuple(steps)


WORDS = st.lists(
    st.sampled_from(["a", "b", "1", "22", "#", "*", "-", ".", r"\#", r"\*"]), min_size=1, max_size=4
).map("".join)
TEMPLATES = st.builds(
    lambda words, rest: "/l/" + "/".join(words) + rest,
    st.lists(WORDS | st.just("*"), min_size=1, max_size=3),
    st.sampled_from(["", "/**"]),
)
CONCRETE = st.lists(names_of("ab12#*-."), min_size=1, max_size=4).map(lambda n: "/l/" + "/".join(n))


def valid(text: str) -> Name | None:
    try:
        name = parse(text)
    except SourceError:
        return None
    return name if name.text.startswith("/l/") else None  # .. may lead out of it


@settings(max_examples=400)
@given(st.sets(TEMPLATES, min_size=1, max_size=12), st.lists(CONCRETE, max_size=20))
def test_templates_match_as_an_independent_matcher_says(
    templates: set[str], paths: list[str]
) -> None:
    names = {name.segments: name for text in templates if (name := valid(text))}
    plan = planned({name.text: ONE for name in names.values()})
    # Paths made from the templates match often; free ones seldom.
    paths += [
        name.text.replace("**", "x/y").replace("*", "ab1").replace("#", "12")
        for name in names.values()
    ]
    for path in paths:
        raw = encode(path)
        orders = {
            name.text: order
            for name in names.values()
            if (order := order_of(name, raw)) is not None
        }
        found = plan.find(raw)
        if not orders:
            assert found.layout is None
            continue
        assert found.layout == ONE
        best = min(orders, key=lambda text: orders[text])
        expected = "" if names[parse(best).segments].path is not None else best
        assert found.template == expected


@given(
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**20),
    st.integers(1, 7),
    st.integers(0, 3),
)
def test_layouts_take_turns_by_the_value_of_the_field(
    value: int, first: int, count: int, zeros: int
) -> None:
    draft = Draft(file_systems=(LUSTRE,))
    options = [draft.add_layout(plain(1, 65536, (ost,))) for ost in range(count)]
    draft.add_rule(Rule(parse("/l/*/#/s#-#.h5"), options, 1, 2, first))
    plan = Plan(bind(compile_draft(draft), [LUSTRE], 0), "test")
    found = plan.find(b"/l/d/7/s%b%d-9.h5" % (b"0" * zeros, value))
    assert found.layout is not None
    assert found.layout.osts == ((value - first) % count,)


def test_the_longest_prefix_decides_where_a_path_lies() -> None:
    inner = FileSystem(lib.IEZ_KIND_MOCK, "/l/inner", (Ost(99),))
    plan = planned({"/l/inner/a": plain(1, 0, (99,)), "/l/a": plain(1, 0, (3,))}, LUSTRE, inner)
    assert plan.find(b"/l/inner/a").prefix == "/l/inner"
    assert plan.find(b"/l/innera").prefix == "/l"
    assert plan.find(b"/l").prefix == ""


@pytest.mark.parametrize("name", ["/real/dir/x_#", "/link/x_#"])
def test_a_path_is_found_by_every_name_of_its_file_system(name: str) -> None:
    system = FileSystem(lib.IEZ_KIND_MOCK, "/link", LUSTRE.osts, ("/real/dir",))
    exact = name.replace("x_#", "exact")
    plan = planned({name: ONE, exact: TWO}, system)
    for directory in (b"/real/dir", b"/link"):
        assert plan.find(directory + b"/x_7").layout == ONE
        assert plan.find(directory + b"/exact").layout == TWO
    assert plan.find(b"/real/exact").layout is None


def test_the_same_path_by_two_names_is_there_twice() -> None:
    system = FileSystem(lib.IEZ_KIND_MOCK, "/link", LUSTRE.osts, ("/real",))
    with pytest.raises(SourceError, match="line 2: /link/a is also on line 1"):
        planned({"/real/a": ONE, "/link/a": TWO}, system)


def test_an_unbound_plan_is_bound_later_without_other_loss() -> None:
    names = {"/l/a": ONE, "/l/b_#": TWO, "/real/c": ONE, "/real/d_#": TWO}
    draft = drafted(names)
    unbound = Plan(bind(compile_draft(draft), [], 5), "test")
    assert not unbound.is_bound
    assert unbound.find(b"/l/a").prefix == ""
    again = FileSystem(lib.IEZ_KIND_MOCK, "/link", LUSTRE.osts, ("/real",))
    plan = Plan(rebind(unbound, [LUSTRE, again], 5), "test")
    assert plan.find(b"/l/a").layout == ONE
    assert plan.find(b"/l/b_3").layout == TWO
    assert plan.find(b"/link/c").layout == ONE
    assert plan.find(b"/real/d_3").layout == TWO
    assert plan.file_systems() == [LUSTRE, again]
    assert Plan(rebind(plan, [again], 5), "test").file_systems() == [again]
    plan.verify()


@pytest.mark.parametrize(
    "names",
    [
        {"/l/good": ONE, "/l/bad": plain(0, 0, (1, 7, 15))},
        {"/l/good": ONE, "/l/bad_#": plain(0, 0, (15,))},
        {"/l/good": ONE, "/*/bad_#": plain(0, 0, (15,))},
        {
            "/l/good": ONE,
            "/l/bad": Layout((Component(extent_end_bytes=1 << 20), Component(osts=(15,)))),
        },
    ],
)
def test_a_plan_with_an_unknown_ost_is_refused_whole(names: dict[str, Layout]) -> None:
    with pytest.raises(UnknownOstError, match=r"bad.*OST 15 does not exist on /l"):
        planned(names)


def test_every_ost_of_a_turn_is_checked() -> None:
    draft = Draft(file_systems=(LUSTRE,))
    options = [draft.add_layout(plain(1, 0, (ost,))) for ost in (1, 2, 200)]
    draft.add_rule(Rule(parse("/l/x#"), options, 1))
    with pytest.raises(UnknownOstError, match="OST 200"):
        bind(compile_draft(draft), [LUSTRE], 0)


def test_sets_of_osts_may_have_holes() -> None:
    holes = from_list(Path("/l"), [3, 7, 300])
    assert planned({"/l/a": plain(0, 0, (300, 3))}, holes).find(b"/l/a").layout is not None
    with pytest.raises(UnknownOstError, match="OST 4 "):
        planned({"/l/a": plain(0, 0, (3, 4))}, holes)


def test_paths_elsewhere_are_not_checked_against_this_file_system() -> None:
    planned({"/elsewhere/a": plain(0, 0, (77,)), "/elsewhere/#": plain(0, 0, (77,)), "/l/a": ONE})


def test_many_paths_and_templates(tmp_path: Path) -> None:
    names = {f"/l/d{i % 97}/f{i}": plain(1, 65536, (i % 15,)) for i in range(20_000)}
    names |= {f"/l/t{i}/s_#/p#.h5": plain(1, 65536, (i % 15,)) for i in range(2_000)}
    plan = planned(names)
    plan.verify()
    for i in range(0, 20_000, 7):
        found = plan.find(f"/l/d{i % 97}/f{i}".encode())
        assert found.layout is not None
        assert found.layout.osts == (i % 15,)
        assert plan.find(f"/l/d{i % 97}/g{i}".encode()).layout is None
    for i in range(2_000):
        found = plan.find(f"/l/t{i}/s_{i}/p{i}.h5".encode())
        assert found.layout is not None
        assert found.layout.osts == (i % 15,)


def test_a_plan_is_put_in_place_at_once_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "my.plan"
    for refresh_ms in (1, 2, 3):
        write_plan(path, empty_plan([LUSTRE], refresh_ms), keep_old=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "my.plan",
        "my.plan.g1",
        "my.plan.g2",
    ]
    kept = [read_plan(tmp_path / name) for name in ("my.plan.g1", "my.plan.g2", "my.plan")]
    assert [plan.refresh_ms for plan in kept] == [1, 2, 3]
    assert kept[0].generation < kept[1].generation < kept[2].generation
    write_plan(path, empty_plan([LUSTRE], 4))
    assert len(list(tmp_path.iterdir())) == 3


def test_the_library_takes_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "my.plan"
    write_plan(path, empty_plan([LUSTRE], 4))
    plan = ffi.new("struct iez_plan *")
    assert lib.iez_plan_map(bytes(path), plan) == ffi.NULL
    lib.iez_plan_unmap(plan)
    path.chmod(0o620)
    assert (
        ffi.string(lib.iez_plan_map(bytes(path), plan))
        == b"other users may write to it (chmod go-w)"
    )


def test_a_plan_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no such file"):
        write_plan(tmp_path / "none" / "my.plan", b"x")
    target = tmp_path / "directory"
    target.mkdir()
    with pytest.raises(OutputError, match="is not a regular file"):
        write_plan(target, b"x")
    assert list(tmp_path.iterdir()) == [target]


def test_files_that_are_no_plan_are_named(tmp_path: Path) -> None:
    good = bytes(empty_plan([LUSTRE], 4))
    cases = {
        "short": (good[:100], "too short"),
        "foreign": (b"#!/bin/sh\n" * 100, "not a plan file"),
        "version": (good[:8] + b"\x63" + good[9:], "another version"),
        "cut": (good[:-1], "truncated"),
        "header": (good[:40] + b"\xff" + good[41:], "header is damaged"),
    }
    for name, (data, words) in cases.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(PlanError, match=words):
            read_plan(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        read_plan(tmp_path / "none")
