"""Requests: tables of what will be written, and tables of `iez parse`, as files to be placed."""

import csv
import json
from pathlib import Path

import pytest

from iez_client.parse.record import COLUMNS as TRACED_COLUMNS
from iez_client.request.source import COLUMNS, Asked, read_requests
from iez_common.errors import InputError, SourceError
from iez_common.records import Request

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def read(tmp_path: Path, text: str, name: str = "f.csv") -> Asked:
    file = tmp_path / name
    file.write_text(text, errors="surrogateescape")
    return read_requests(file)


def traced(tmp_path: Path, *changes: dict[str, object]) -> Asked:
    """Rows as `iez parse` writes them, with these cells changed."""
    usual = dict.fromkeys(TRACED_COLUMNS, "") | {
        "file_name": "/l/a", "write_bytes": 8 * MIB, "writes": 8, "size_bytes": 8 * MIB,
        "ranks": "0", "created": "true", "write_end": 8 * MIB, "helper": "false",
        "write_sizes": json.dumps({str(MIB): 8}),
    }  # fmt: skip
    file = tmp_path / "seen.csv"
    with file.open("w", newline="") as out:
        rows = csv.DictWriter(out, TRACED_COLUMNS)
        rows.writeheader()
        rows.writerows({**usual, **change} for change in changes)
    return read_requests(file)


def test_every_column_reaches_its_field(tmp_path: Path) -> None:
    """The header in another order than the page's."""
    found = read(
        tmp_path,
        "overstripe,pool,high_bytes,access_bytes,writers,stripe_count,write_bytes,path\n"
        "true,flash,8G,1M,64,12,4.5G,/l/a.h5\n"
        "\n"
        ",,,,,auto,4096,/l/b c.dat\n",
    )
    first, second = (each.request for each in found.files)
    assert first == Request(
        write_bytes=4 * GIB + GIB // 2,
        stripe_count=12,
        writers=64,
        access_bytes=MIB,
        high_bytes=8 * GIB,
        overstripe=True,
        pool="flash",
        name="/l/a.h5",
    )
    assert second == Request(4096, name="/l/b c.dat")
    assert [each.where for each in found.files] == [f"{tmp_path}/f.csv, line {n}" for n in (2, 4)]


def test_json_says_the_same(tmp_path: Path) -> None:
    values = {
        "path": "/l/a.h5", "write_bytes": "4.5G", "stripe_count": 12, "writers": 64.0,
        "access_bytes": MIB, "high_bytes": "8G", "overstripe": True, "pool": "flash",
    }  # fmt: skip
    assert set(values) == set(COLUMNS)
    empty = {"path": "/l/b", "write_bytes": 1, "stripe_count": None, "pool": ""}
    found = read(tmp_path, json.dumps({"files": [values, empty]}), "f.json")
    assert found.files[0].request == Request(
        4 * GIB + GIB // 2, 12, 64, MIB, 8 * GIB, overstripe=True, pool="flash", name="/l/a.h5"
    )
    assert found.files[1].request == Request(1, name="/l/b")


def test_relative_paths_templates_and_other_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "path,write_bytes\nrun/../a,1\n/l/c_#.h5,1\n/l/c_#.h5,2\n/l/\udcff,3\n"
    found = read(tmp_path, text)
    assert [each.path for each in found.files] == [
        f"{tmp_path}/a", "/l/c_#.h5", "/l/c_#.h5", "/l/\udcff",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("/l/a,nan,,,", "write_bytes: 'nan' is not a size"),
        ("/l/a,-1,,,", "write_bytes: '-1' is not a size"),
        ("/l/a,1.5,,,", "write_bytes: '1.5' is not a whole number of bytes"),
        ("/l/a,4E,,,", "write_bytes: 4611686018427387904 is out of range"),
        ("/l/a, ,,,", "write_bytes is empty"),
        (",1,,,", "the path is empty"),
        ("/l/,1,,,", "/l/ is a directory's name"),
        ("/l/##,1,,,", "# is followed by"),
        ("/l/a,1,many,,", "stripe_count: 'many' is not a whole number"),
        ("/l/a,1,-1,,", "stripe_count: '-1' is not a whole number"),
        ("/l/a,1,2001,,", "stripe_count: 2001 is out of range"),
        ("/l/a,1,,0,", "writers: 0 is out of range"),
        pytest.param(f"/l/a,1,,{'9' * 5000},", "is not a whole number", id="many-writers"),
        pytest.param(
            f"/l/a,{'9' * 5000},,,", "write_bytes: a number of 5000 digits", id="many-bytes"
        ),
        ("/l/a,1,,,maybe", "overstripe is neither true nor false"),
        ("/l/a,1", "2 cells under 5 columns"),
        ('/l/a,"1,,,', "unexpected end of data"),
        ("/l/ok,1,,,", "/l/ok is also in"),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_a_hint(tmp_path: Path, row: str, words: str) -> None:
    header = "path,write_bytes,stripe_count,writers,overstripe\n"
    with pytest.raises(SourceError) as caught:
        read(tmp_path, f"{header}/l/ok,1G,,,\n{row}\n")
    assert caught.value.message.startswith(f"{tmp_path}/f.csv, line 3: ")
    assert words in caught.value.message
    assert caught.value.hint


NEST = "[" * 100_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "f.csv, line 1: the column path is missing"),
        ("path\n/l/a\n", "f.csv, line 1: the column write_bytes is missing"),
        ("path,write_bytes,size\n", "f.csv, line 1: unknown column 'size'"),
        ("path,write_bytes,path\n", "f.csv, line 1: the column path is there twice"),
        ("path,write_bytes\n", "f.csv: it names no file"),
        ("file_name,write_bytes\n", "f.csv, line 1: the column writes is missing"),
        ("{", "f.json, line 1: Expecting"),
        ("[]", "f.json: no list of files"),
        ('{"files": []}', "f.json: it names no file"),
        ('{"files": [3]}', "f.json, file 1: something stands where"),
        ('{"files": [{"path": "/a", "size": 1}]}', "f.json, file 1: unknown key 'size'"),
        ('{"files": [{"path": 3, "write_bytes": 1}]}', "f.json, file 1: path is not a text"),
        ('{"files": [{"path": "/a", "write_bytes": NaN}]}', "write_bytes: nan is not a whole"),
        ('{"files": [{"path": "/a", "write_bytes": Infinity}]}', "write_bytes: inf is not a"),
        ('{"files": [{"path": "/a", "write_bytes": -5}]}', "write_bytes: -5 is out of range"),
        ('{"files": [{"path": "/a", "write_bytes": true}]}', "write_bytes: True is not a whole"),
        ('{"files": [{"path": "/a", "write_bytes": [1]}]}', "write_bytes: [1] is not a whole"),
        (NEST, "f.json: it is nested too deeply"),
    ],
    ids=lambda text: text[:40],
)
def test_a_bad_header_an_empty_table_and_bad_json_are_named(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(SourceError) as caught:
        read(tmp_path, text, "f.json" if text[:1] in "{[" and text else "f.csv")
    assert words in caught.value.message
    assert caught.value.hint


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            read_requests(path)


def test_a_traced_file_is_asked_for_as_it_was_written(tmp_path: Path) -> None:
    (file,) = traced(tmp_path, {"ranks": "0-2,7"}).files
    assert file.request == Request(8 * MIB, writers=4, access_bytes=MIB, name="/l/a")


def test_the_name_is_the_one_at_creation_and_no_template(tmp_path: Path) -> None:
    found = traced(
        tmp_path,
        {"file_name": "/l/done", "renamed_from": json.dumps(["/l/t#mp", "/l/half"])},
        {"file_name": "/l/2*3"},
    )
    assert [each.path for each in found.files] == [r"/l/t\#mp", r"/l/2\*3"]
    assert [each.name.path for each in found.files] == [b"/l/t#mp", b"/l/2*3"]


def test_one_temporary_name_that_served_twice_is_asked_for_once_with_the_larger_file(
    tmp_path: Path,
) -> None:
    found = traced(
        tmp_path,
        *(
            {"file_name": f"/l/{size}", "size_bytes": size, "renamed_from": '["/l/tmp"]'}
            for size in (5, 9, 7)
        ),
    )
    assert [(each.path, each.request.write_bytes) for each in found.files] == [("/l/tmp", 9)]


def test_helpers_and_files_that_were_there_are_left_out_and_counted(tmp_path: Path) -> None:
    found = traced(
        tmp_path,
        {"file_name": "/l/a.lockedfile", "helper": "true"},
        {"file_name": "/l/input", "created": "false"},
        {"file_name": "/l/out"},
    )
    assert [each.path for each in found.files] == ["/l/out"]
    assert (found.helper_count, found.existing_count) == (1, 1)


@pytest.mark.parametrize(
    ("cells", "size"),
    [
        ({"size_bytes": 100, "write_end": 200, "write_bytes": 300}, 100),
        ({"size_bytes": "", "write_end": 200, "write_bytes": 300}, 200),
        ({"size_bytes": 0, "write_end": 0, "write_bytes": 300}, 300),
        ({"size_bytes": 0, "write_end": 0, "write_bytes": 0}, 0),
    ],
)
def test_the_size_is_the_files_as_far_as_it_is_known(
    tmp_path: Path, cells: dict[str, object], size: int
) -> None:
    assert traced(tmp_path, cells).files[0].request.write_bytes == size


@pytest.mark.parametrize(
    ("write_bytes", "writes", "sizes", "access"),
    [
        (47008 * 100, 100, {32 * KIB: 100}, 47008),  # all alike: exactly
        (47008 * 100 + 1, 100, {32 * KIB: 100}, 32 * KIB),  # about alike
        (4 * MIB * 10 + 80, 20, {8: 10, 4 * MIB: 10}, 4 * MIB),  # headers do not count
        (0, 0, {}, 0),
    ],
)
def test_the_access_size_is_that_of_most_of_the_bytes(
    tmp_path: Path, write_bytes: int, writes: int, sizes: dict[int, int], access: int
) -> None:
    cells = {"write_bytes": write_bytes, "writes": writes, "write_sizes": json.dumps(sizes)}
    assert traced(tmp_path, cells).files[0].request.access_bytes == access


@pytest.mark.parametrize(
    "cells",
    [
        {"ranks": "0-x"},
        {"ranks": "²"},
        {"ranks": "0-99999999999999999999"},
        {"write_sizes": '{"²": 1}'},
        {"write_sizes": '{"99999999999999999999": 1}'},
        {"renamed_from": "[" * 10_000},
        {"write_sizes": "{"},
        {"write_sizes": '{"a": 1}'},
        {"write_sizes": "[]"},
        {"renamed_from": '{"a": 1}'},
        {"renamed_from": "[3]"},
        {"created": "perhaps"},
        {"writes": "-3"},
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, cells: dict[str, object]) -> None:
    with pytest.raises(SourceError, match=rf"seen\.csv, line 2: {next(iter(cells))}") as caught:
        traced(tmp_path, cells)
    assert caught.value.hint
