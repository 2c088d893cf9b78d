"""The site policy file: what it can say, what is said about a bad one, and where it is found."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from iez_common import config
from iez_common.allocate import STRATEGIES, Policy
from iez_common.allocate.policy import OBJECTIVES, PFL, RUNGS
from iez_common.allocate.policy_file import KEYS, read_policy
from iez_common.allocate.split import EVEN_ENOUGH, GAIN_MIN
from iez_common.errors import ConfigError, InputError

GIB = 1 << 30
PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text()
EXAMPLE = PAGE.partition("```toml\n")[2].partition("```")[0]


def policy(tmp_path: Path, text: str) -> Policy:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    return read_policy(file)


def test_an_empty_file_says_what_no_file_says(tmp_path: Path) -> None:
    assert policy(tmp_path, "") == Policy()


def test_every_key_reaches_its_field(tmp_path: Path) -> None:
    """Nothing keeps its default, so no key is read into another's field, or not at all."""
    found = policy(
        tmp_path,
        """
        strategy = "greedy"
        objective = "space"
        ladder = "pool"
        pin_min = "2M"
        pfl = "never"
        split_min = 1073741824
        exclude_osts = "3,7-9"
        pools_allowed = ["flash", "disk"]
        stripe_count_max = 32
        stripe_count_max_single = 2
        single_stripe = "3G"
        shared_stripe = "128M"
        stripe_size = "1M"
        ost_bandwidth = "2G"
        busy_floor = 0.5
        headroom = 0
        headroom_floor = 0.01
        drift = 1

        [pools]
        flash = "0-1,20"
        disk = [4, 2]
        """,
    )
    expected = Policy(
        strategy="greedy",
        objective="space",
        ladder="pool",
        pin_min_bytes=2 << 20,
        pfl="never",
        split_min_bytes=GIB,
        exclude_osts=frozenset({3, 7, 8, 9}),
        pools={"flash": frozenset({0, 1, 20}), "disk": frozenset({2, 4})},
        pools_allowed=frozenset({"flash", "disk"}),
        stripe_count_max=32,
        stripe_count_max_single=2,
        single_stripe_bytes=3 * GIB,
        shared_stripe_bytes=128 << 20,
        stripe_size_bytes=1 << 20,
        ost_bandwidth_bytes_per_s=2.0 * GIB,
        busy_floor=0.5,
        headroom=0.0,
        headroom_floor=0.01,
        drift=1.0,
    )
    assert found == expected
    usual = Policy()
    same = {
        each.name
        for each in fields(Policy)
        if getattr(found, each.name) == getattr(usual, each.name)
    }
    assert same == {"seed", "racing"}  # chance is for studies, not for a site


def test_no_pools_allowed_is_not_the_same_as_nothing_said(tmp_path: Path) -> None:
    assert policy(tmp_path, "pools_allowed = []").pools_allowed == frozenset()
    assert policy(tmp_path, "").pools_allowed is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('stratgy = "iez"', 1, "stratgy: no such setting"),
        ('\nstrategy = "best"', 2, "strategy: there is no 'best'"),
        ('\n\nobjective = "speed"', 3, "objective: there is no 'speed'"),
        ('ladder = "lists"', 1, "ladder: there is no 'lists'"),
        ('pfl = "yes"', 1, "pfl: there is no 'yes'"),
        ("pfl = true", 1, "pfl: is not a text in quotes"),
        ('pin_min = "1X"', 1, "pin_min: '1X' is not a size"),
        ("pin_min = -1", 1, "pin_min: is not a size"),
        ("pin_min = nan", 1, "pin_min: is not a size"),
        ('pin_min = "4E"', 1, "pin_min: 4611686018427387904 is not between 0 and 2E"),
        ('single_stripe = "0"', 1, "single_stripe: 0 is not between 1 and 2E"),
        ('ost_bandwidth = "0"', 1, "ost_bandwidth: 0 is not between 1 and 2E"),
        ('stripe_size = "100K"', 1, "stripe_size: 100K is not a multiple of 64K below 4G"),
        ('stripe_size = "4G"', 1, "stripe_size: 4G is not a multiple of 64K below 4G"),
        ("stripe_size = 0", 1, "stripe_size: 0 is not a multiple of 64K"),
        ("exclude_osts = 3", 1, "exclude_osts: is not a set"),
        ("exclude_osts = [-1]", 1, "exclude_osts: is not a set"),
        ("exclude_osts = [0, 65536]", 1, "exclude_osts: 65536 is above the largest index, 65535"),
        ('exclude_osts = "9-7"', 1, "exclude_osts: '9-7' counts backwards"),
        ("stripe_count_max = 0", 1, "stripe_count_max: 0 is not between 1 and 2000"),
        ("stripe_count_max = 1.5", 1, "stripe_count_max: is not a whole number"),
        ("drift = nan", 1, "drift: is not a number"),
        ("drift = 1.5", 1, "drift: 1.5 is not between 0 and 1"),
        ("busy_floor = 0", 1, "busy_floor: 0 is not between 1e-06 and 1"),
        ("headroom = inf", 1, "headroom: inf is not between 0 and 1"),
        ("headroom_floor = false", 1, "headroom_floor: is not a number"),
        ("pools = 3", 1, "pools: is not a table"),
        ("pools_allowed = [3]", 1, "pools_allowed: is not a list of texts"),
        ('drift = 0.1\n\n[pools]\ndrift = ""', 4, "drift: no index is given"),
        ("[pools]\nflash = []", 2, "flash: the pool has no OST"),
        ('[pools]\na = "0"\n\n[more]\n', 4, "more: no such setting"),
    ],
)  # fmt: skip
def test_a_bad_value_is_named_with_file_line_and_key(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(
        ConfigError, match=re.escape(f"policy.toml, line {line}: {words}")
    ) as caught:
        policy(tmp_path, text)
    assert caught.value.exit_code == 78


@pytest.mark.parametrize("text", ["strategy =", "[[pools]]\na=1\n[pools]", "\udcff"])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=r"policy\.toml"):
        read_policy(file)


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file"):
        read_policy(tmp_path / "none.toml")


def test_it_is_found_by_flag_variable_settings_and_last_beside_the_site_file(
    tmp_path: Path,
) -> None:
    site, user = tmp_path / "etc" / "site.toml", tmp_path / ".config" / "iez" / "config.toml"
    for path in (site, user):
        path.parent.mkdir(parents=True)

    def origin(flag: str | None = None, **variables: str) -> tuple[str, str]:
        found = config.load({"policy": flag}, {"HOME": str(tmp_path), **variables}, site)["policy"]
        return found.value, found.origin

    assert origin() == ("", "default")
    beside = tmp_path / "etc" / "policy.toml"
    beside.symlink_to("gone")  # one that cannot be read must not pass as absent
    assert origin() == (str(beside), "default")
    site.write_text('policy = "own.toml"')
    assert origin() == (str(tmp_path / "etc" / "own.toml"), str(site))
    user.write_text('policy = "/mine.toml"')
    assert origin() == ("/mine.toml", str(user))
    assert origin(IEZ_POLICY="v.toml") == ("v.toml", "IEZ_POLICY")
    assert origin("f.toml", IEZ_POLICY="v.toml") == ("f.toml", "flag")
    assert origin("", IEZ_POLICY="v.toml") == ("", "flag")


def test_the_example_of_the_page_says_the_defaults_all_of_them(tmp_path: Path) -> None:
    assert policy(tmp_path, EXAMPLE) == Policy()
    said = set(tomllib.loads(EXAMPLE))
    assert said == set(KEYS) - {"pools_allowed"}
    assert "# pools_allowed" in EXAMPLE


def test_the_tables_of_the_page_tell_every_key_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `\[?(\w+)\]?` \| ([^|]+) \|", PAGE, re.MULTILINE))
    values = tomllib.loads(EXAMPLE)
    for key in set(KEYS) - {"pools", "pools_allowed"}:
        assert tomllib.loads(f"x = {rows[key].strip('`')}")["x"] == values[key], key
    assert {"pools", "pools_allowed"} <= set(rows)


def test_the_page_names_every_word_and_weight_that_the_code_has() -> None:
    for word in (*STRATEGIES, *OBJECTIVES, *RUNGS, *PFL):
        assert f"`{word}`" in PAGE or f'`"{word}"`' in PAGE, word
    assert f"more than {100 * GAIN_MIN:g} %" in PAGE
    assert f"from {100 * EVEN_ENOUGH:g} % on" in PAGE


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000])
def test_toml_that_python_gives_up_on_is_one_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f"drift = {value}")
    with pytest.raises(ConfigError) as caught:
        read_policy(path)
    assert caught.value.message == f"{path}: it is nested too deeply, or a number is too long"
