"""Every form of layout, from a JSON file through the library to the file's own bytes."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import shim_environment

from iez_client.cli import main as iez
from iez_client.place import read_outcomes
from iez_common.layout import Component, Layout

MIB = 1 << 20
FORMS: dict[str, tuple[dict[str, object], int, list[int]]] = {
    # what is asked, length of the request, the OSTs in it
    "list": ({"osts": [3, 1, 2], "stripe_size": "4M"}, 48 + 3 * 24, [3, 1, 2]),
    "count": ({"stripe_count": 5, "stripe_size": "1M"}, 32, []),
    "size": ({"stripe_size": "192K"}, 32, []),
    "all": ({"stripe_count": -1}, 32, []),
    "pool": ({"stripe_count": 2, "pool": "flash"}, 48, []),
    "pool_list": ({"osts": [7, 8], "pool": "flash"}, 48 + 2 * 24, [7, 8]),
    "overstriped_list": ({"osts": [1, 1, 2], "overstripe": True}, 48 + 3 * 24, [1, 1, 2]),
    "overstriped_count": ({"stripe_count": 500, "overstripe": True}, 32, []),
    "composite": (
        {
            "components": [
                {"end": "64M", "stripe_size": "1M", "osts": [3]},
                {"end": "eof", "stripe_size": "4M", "osts": [4, 5, 6]},
            ]
        },
        32 + 2 * 48 + (48 + 24) + (48 + 3 * 24),
        [3, 4, 5, 6],
    ),
    "data_on_mdt": (
        {"components": [{"end": "1M", "mdt": True}, {"end": "eof", "osts": [9]}]},
        32 + 2 * 48 + 32 + (48 + 24),
        [9],
    ),
    "wide": ({"osts": list(range(200))}, 48 + 200 * 24, list(range(200))),
    "widest": ({"osts": list(range(2000))}, 48 + 2000 * 24, list(range(2000))),
}


@pytest.fixture
def mock(tmp_path: Path) -> Path:
    where = tmp_path / "mock"
    where.mkdir()
    (where / "iez-mock.toml").write_text("osts = 2000\n")
    return where


def create_all(tmp_path: Path, mock: Path) -> None:
    files = [{"path": f"{mock}/{name}", **form} for name, (form, _, _) in FORMS.items()]
    (tmp_path / "forms.json").write_text(json.dumps({"files": files}))
    plan = tmp_path / "plan"
    words = ["--from", str(tmp_path / "forms.json"), "-o", str(plan), "--mock", str(mock)]
    assert iez.main(["plan", "build", *words]) == 0
    subprocess.run(
        ["touch", *(mock / name for name in FORMS)], env=shim_environment(plan), check=True
    )


def can_hold_wide_attributes(mock: Path) -> bool:
    probe = mock / "probe"
    probe.touch()
    try:
        os.setxattr(probe, "user.probe", bytes(48 + 2000 * 24))
    except OSError:
        return False
    finally:
        probe.unlink()
    return True


def test_each_form_reaches_the_file_as_it_was_asked(
    tmp_path: Path, mock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create_all(tmp_path, mock)
    # ext4 keeps attributes in one block: there the wide ones are refused, and the files are plain.
    held = [
        name
        for name, (_, bytes_, _) in FORMS.items()
        if can_hold_wide_attributes(mock) or bytes_ < 4000
    ]
    capsys.readouterr()
    assert iez.main(["layout", "--json", *(str(mock / name) for name in held)]) == 0
    seen = json.loads(capsys.readouterr().out)["files"]
    for name, file in zip(held, seen, strict=True):
        _, bytes_, osts = FORMS[name]
        assert len(os.getxattr(mock / name, "user.iez.lov")) == bytes_, name
        assert [ost for component in file["components"] for ost in component["osts"]] == osts, name
    assert read_outcomes(tmp_path)["IEZ_PLACED"] == len(held)


def test_a_form_is_the_same_by_the_library_as_by_python(tmp_path: Path, mock: Path) -> None:
    create_all(tmp_path, mock)
    composite = Layout(
        (
            Component(extent_end_bytes=64 * MIB, stripe_size_bytes=MIB, osts=(3,)),
            Component(stripe_size_bytes=4 * MIB, osts=(4, 5, 6)),
        )
    )
    assert os.getxattr(mock / "composite", "user.iez.lov") == composite.wire()
