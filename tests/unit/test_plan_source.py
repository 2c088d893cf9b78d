"""CSV and JSON sources: what they mean, and errors that name the file and the line."""

import json
import re
from pathlib import Path

import pytest

from iez_client.filesystems import from_list
from iez_client.plan.build import build_plan
from iez_client.plan.draft import Draft
from iez_client.plan.read import Plan
from iez_client.plan.source import read_source
from iez_common.errors import IezError, InputError
from iez_common.layout import ALL_STRIPES, Component, Layout, plain

MIB = 1 << 20
DOCS = Path(__file__).parents[2] / "docs" / "plan-file.md"
HEADER = "path,stripe_count,stripe_size,ost_list,pool\n"


def written(tmp_path: Path, text: str | bytes, name: str = "f.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def plan_of(tmp_path: Path, text: str | bytes, name: str = "f.csv") -> Plan:
    return Plan(build_plan(written(tmp_path, text, name), (), 0).image, name)


def layouts(plan: Plan) -> dict[bytes, Layout]:
    return {entry.path: plan.layout(entry.layout_ref) for entry in plan.entries()}


def test_every_column_may_be_empty(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        HEADER + "/l/a,,,,\n/l/b,2,,,\n/l/c,,4M,,\n/l/d,,,3 1,\n/l/e,,,,flash\n"
        "/l/f,3,64k,7 7 8,\n/l/g,-1,1MiB,,p\n",
    )
    assert layouts(plan) == {
        b"/l/a": plain(),
        b"/l/b": plain(2),
        b"/l/c": plain(0, 4 * MIB),
        b"/l/d": plain(2, 0, (3, 1)),
        b"/l/e": plain(pool="flash"),
        b"/l/f": Layout((Component(3, 65536, (7, 7, 8), overstripe=True),)),
        b"/l/g": plain(ALL_STRIPES, MIB, pool="p"),
    }


def test_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "pool,ost_list,path,stripe_size,stripe_count\nx,1 2,/l/a,1M,2\n")
    assert layouts(plan) == {b"/l/a": plain(2, MIB, (1, 2), "x")}


def test_windows_line_ends_a_byte_order_mark_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + HEADER.replace("\n", "\r\n").encode() + b"\r\n/l/a,1,,,\r\n\r\n"
    assert layouts(plan_of(tmp_path, text)) == {b"/l/a": plain(1)}


def test_quoted_paths_may_hold_commas_and_line_breaks(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, HEADER + '"/l/a,b\nc",1,,,\n')
    assert list(layouts(plan)) == [b"/l/a,b\nc"]


def test_names_need_not_be_utf8(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, HEADER.encode() + b"/l/\xff\xfe,1,,,\n")
    assert list(layouts(plan)) == [b"/l/\xff\xfe"]


def test_equal_layouts_are_kept_once(tmp_path: Path) -> None:
    rows = "".join(f"/l/f{i},,4M,1 2 3,\n" for i in range(100))
    draft = read_source(written(tmp_path, HEADER + rows + "/l/g,3,4096K,1 2 3,\n"))
    assert len(draft.layouts) == len(plain(3, 4 * MIB, (1, 2, 3)).record())


def test_relative_paths_are_below_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(layouts(plan_of(tmp_path, HEADER + "./x//y/../a,1,,,\n"))) == [
        f"{tmp_path}/x/a".encode()
    ]


def test_rows_of_one_template_take_turns(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, HEADER + "/l/a_#/b_#,,,1,\n/l/a_#/b_#,,,2,\n/l/a_#/b_#,,,1,\n")
    (choice,) = plan.choices()
    assert [plan.layout(reference).osts for reference in choice.options] == [(1,), (2,), (1,)]
    assert (choice.field, choice.first_value) == (1, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the column path is missing"),
        ("path,stripe_count\n", "line 1: the column stripe_size is missing"),
        (HEADER.replace("pool", "pol"), "line 1: unknown column 'pol'"),
        (HEADER.replace("pool", "path"), "line 1: the column path is there twice"),
        (HEADER + "/l/a,1,,\n", "line 2: 4 cells under 5 columns"),
        (HEADER + "/l/a,1,,,\n/l/b,x,,,\n", "line 3: stripe_count: 'x' is not a number"),
        (HEADER + "/l/a,1,4Q,,\n", "line 2: stripe_size: '4Q' is not a size"),
        (HEADER + "/l/a,1,100,,\n", "line 2: stripe size 100 is not a multiple of 64K"),
        (HEADER + "/l/a,,,1;2,\n", "line 2: ost_list: '1;2' is not a number"),
        (HEADER + "/l/a,3,,1 2,\n", "line 2: stripe count 3 does not agree"),
        (HEADER + "/l/a,3,,,no pool\n", "line 2: pool name 'no pool'"),
        (HEADER + ",3,,,\n", "line 2: the path is empty"),
        (HEADER + "/l/**/b,3,,,\n", r"line 2: \*\* can only be the last"),
        (HEADER + "/l/a,1,,,\n/l/b,1,,,\n/l//a,2,,,\n", "line 4: /l/a is also on line 2"),
        (
            HEADER + "/l/**,1,,,\n/l/**,2,,,\n",
            r"line 3: /l/\*\* is also on line 2, and it has no #",
        ),
        (HEADER + '/l/"a,1,,,\n"', "line 3: "),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(IezError, match=rf"f\.csv, {words}"):
        plan_of(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: no such file"):
        read_source(tmp_path / "none.csv")


def from_json(tmp_path: Path, *files: object) -> Plan:
    return plan_of(tmp_path, json.dumps({"files": files}), "f.json")


def test_json_says_all_that_csv_says(tmp_path: Path) -> None:
    plan = from_json(
        tmp_path,
        {"path": "/l/a"},
        {"path": "/l/b", "stripe_count": -1, "stripe_size": "4M", "pool": "flash"},
        {"path": "/l/c", "osts": [3, 1], "stripe_size": 65536},
        {"path": "/l/d", "osts": [3, 3]},
        {"path": "/l/e", "stripe_count": 30, "overstripe": True},
    )
    assert layouts(plan) == {
        b"/l/a": plain(),
        b"/l/b": plain(ALL_STRIPES, 4 * MIB, pool="flash"),
        b"/l/c": plain(2, 65536, (3, 1)),
        b"/l/d": Layout((Component(2, 0, (3, 3), overstripe=True),)),
        b"/l/e": Layout((Component(30, overstripe=True),)),
    }


def test_json_says_composite_layouts(tmp_path: Path) -> None:
    components = [
        {"end": "1M", "mdt": True},
        {"end": "64M", "stripe_size": "1M", "osts": [1, 2]},
        {"end": "eof", "stripe_count": 8, "stripe_size": "4M"},
    ]
    plan = from_json(tmp_path, {"path": "/l/a", "components": components})
    assert layouts(plan)[b"/l/a"] == Layout(
        (
            Component(mdt=True, extent_end_bytes=MIB),
            Component(2, MIB, (1, 2), extent_end_bytes=64 * MIB),
            Component(8, 4 * MIB),
        )
    )


def test_json_chooses_among_layouts_by_any_number_field(tmp_path: Path) -> None:
    each = [{"osts": [1]}, {"osts": [2]}]
    plan = from_json(
        tmp_path,
        {"path": "/l/*/s#/p#", "layouts": each, "choose": {"field": 0, "first": 10}},
        {"path": "/l/t#", "layouts": each},
    )
    first, second = plan.choices()
    assert (first.field, first.first_value) == (1, 10)  # the directory is field 0
    assert (second.field, second.first_value) == (0, 0)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (3, "expected"),
        ({}, "no path"),
        ({"path": 3}, "no path"),
        ({"path": "/l/a", "stripes": 3}, "unknown key 'stripes'"),
        ({"path": "/l/a", "stripe_count": "3"}, "not a whole number"),
        ({"path": "/l/a", "stripe_count": True}, "not a whole number"),
        ({"path": "/l/a", "stripe_size": "4Q"}, "not a size"),
        ({"path": "/l/a", "stripe_size": []}, "neither a number nor a size"),
        ({"path": "/l/a", "osts": 3}, "osts is not a list"),
        ({"path": "/l/a", "osts": ["3"]}, "'3' is not a number"),
        ({"path": "/l/a", "osts": [3, 3], "overstripe": False}, "twice without overstriping"),
        ({"path": "/l/a", "pool": 3}, "pool is not a text"),
        ({"path": "/l/a", "overstripe": 1}, "neither true nor false"),
        ({"path": "/l/a", "mdt": True}, "only in the first"),
        ({"path": "/l/a", "components": [{"stripe_count": 3}]}, "no end"),
        ({"path": "/l/a", "components": [{"end": "64M"}]}, "does not end at eof"),
        ({"path": "/l/a", "components": [], "pool": "x"}, "stands beside components"),
        ({"path": "/l/a", "components": []}, "at least one"),
        ({"path": "/l/a#", "layouts": []}, "layouts is empty"),
        ({"path": "/l/a#", "layouts": [{}], "pool": "x"}, "stands beside layouts"),
        ({"path": "/l/a", "layouts": [{}]}, "without # cannot choose"),
        ({"path": "/l/*/a", "layouts": [{}, {}]}, "no # that could choose"),
        ({"path": "/l/a#", "layouts": [{}], "choose": {"field": 1}}, "field 1 does not exist"),
        ({"path": "/l/a#", "layouts": [{}], "choose": {"first": -1}}, "no value of a field"),
        ({"path": "/l/a", "choose": {}}, "choose is there without layouts"),
    ],
)
def test_json_errors_name_the_file_of_the_list(tmp_path: Path, file: object, words: str) -> None:
    with pytest.raises(IezError, match=rf"f\.json, file 2: .*{words}"):
        from_json(tmp_path, {"path": "/l/good"}, file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"files": [\n{,}]}', "line 2: "),
        ("[]", "no list of files"),
        ('{"files": {}}', "no list of files"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_none_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(IezError, match=words):
        plan_of(tmp_path, text, "f.json")


def test_a_repeated_json_template_with_layouts_is_refused(tmp_path: Path) -> None:
    one = {"path": "/l/a#", "layouts": [{}]}
    for files in ([one, one], [one, {"path": "/l/a#"}], [{"path": "/l/a#"}, one]):
        with pytest.raises(IezError, match="file 2: /l/a# is also on file 1"):
            from_json(tmp_path, *files)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_the_documented_examples_can_be_built(tmp_path: Path, form: str) -> None:
    text = DOCS.read_text()
    pattern = r"```json\n(.*?)```" if form == "json" else r"layouts\.csv\n(path,.*?)\$"
    match = re.search(pattern, text, re.DOTALL)
    assert match
    source = written(tmp_path, match[1], f"f.{form}")
    built = build_plan(source, [from_list(Path("/lustre"), range(15))], 0)
    assert built.is_bound
    assert built.outside_count == 0


def test_an_empty_draft_is_a_plan(tmp_path: Path) -> None:
    assert list(plan_of(tmp_path, HEADER).entries()) == []
    assert Draft().where(3) == "line 3"
