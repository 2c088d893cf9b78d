"""The loop with a site's database: what one run taught is on the server, and places the next."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mariadb_server import MariaDbServer

from iez_common.config import without_password

pytest_plugins = ["database_fixtures"]
pytestmark = pytest.mark.mariadb

BIN = Path(sys.executable).parent
JOB = "head -c 3000000 /dev/zero >$1/a.$RANDOM.0; head -c 2000000 /dev/zero >$1/b"


def test_runs_are_learned_from_and_placed_through_a_server(
    server: MariaDbServer, tmp_path: Path
) -> None:
    server_url = server.url(server.new_database())
    mock = tmp_path / "mock"
    mock.mkdir()
    env = {"PATH": os.environ["PATH"], "IEZ_DATABASE": server_url, "IEZ_MOCK": str(mock)}

    def iez(*words: str, home: str) -> subprocess.CompletedProcess[str]:
        command = [str(BIN / words[0]), *words[1:]]
        own = env | {"HOME": str(tmp_path / home)}
        return subprocess.run(command, env=own, capture_output=True, text=True)

    job = ("iez-run", "bash", "-c", JOB, "bash", str(mock))
    assert iez("iez", "db", "upgrade", home="one").returncode == 0
    first = iez(*job, home="one")
    assert "2 files seen" in first.stderr
    assert "the next run is planned" in first.stderr
    for path in mock.iterdir():
        path.unlink()
    # From another home, as from another node: all that is known is on the server.
    second = iez(*job, home="two")
    assert "2 files placed (try: iez table bash)" in second.stderr
    runs = json.loads(iez("iez", "runs", "--json", home="three").stdout)["runs"]
    assert [run["outcomes"] for run in runs] == [{"placed": 2}, {}]
    told = iez("iez", "config", "show", home="two").stdout
    assert server_url not in told
    assert without_password(server_url) in told
