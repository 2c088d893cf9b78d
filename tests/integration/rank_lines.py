"""What a rank says of itself in the tests of launchers: where it runs and what it was given."""

import subprocess
from dataclasses import dataclass

SHOW = 'echo "rank|$(hostname)|$LD_PRELOAD|$IEZ_PLAN|$*"'


@dataclass(frozen=True)
class Rank:
    host: str
    preload: str
    plan: str
    arguments: str


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def rank_lines(text: str) -> list[Rank]:
    lines = [line for line in text.splitlines() if line.startswith("rank|")]
    return [Rank(*line.split("|")[1:]) for line in lines]


def ranks(command: list[str], env: dict[str, str]) -> list[Rank]:
    done = run(command, env)
    found = rank_lines(done.stdout)
    assert found, done.stderr
    return found


def ours(preload: str) -> bool:
    """Whether our library is there once, behind all others."""
    return preload.endswith("/iez_client/libiez_shim.so") and preload.count("libiez_shim.so") == 1
