"""Settings: the order of their origins, and errors that name the place."""

from pathlib import Path

import pytest

from iez_common import config
from iez_common.errors import ConfigError, InputError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".config" / "iez").mkdir(parents=True)
    return tmp_path


def load(home: Path, flags: dict[str, str | None] | None = None, **variables: str) -> config.Config:
    return config.load(flags, {"HOME": str(home), **variables}, home / "site.toml")


def user_file(home: Path) -> Path:
    return home / ".config" / "iez" / "config.toml"


def test_defaults(home: Path) -> None:
    found = load(home)
    assert [setting.origin for setting in found.settings] == ["default"] * len(config.KNOWN)
    assert found.refresh_ms == 1000
    assert found.path("mock") is None
    assert found.path("state_dir") == home / ".local/state/iez"


def test_each_origin_beats_the_next(home: Path) -> None:
    (home / "site.toml").write_text("refresh_ms = 1")
    assert load(home)["refresh_ms"] == config.Setting("refresh_ms", "1", str(home / "site.toml"))
    user_file(home).write_text("refresh_ms = 2")
    assert load(home)["refresh_ms"].origin == str(user_file(home))
    with_variable = load(home, IEZ_REFRESH_MS="3")
    assert with_variable["refresh_ms"] == config.Setting("refresh_ms", "3", "IEZ_REFRESH_MS")
    with_flag = load(home, {"refresh_ms": "4", "mock": None}, IEZ_REFRESH_MS="3")
    assert with_flag["refresh_ms"] == config.Setting("refresh_ms", "4", "flag")


def test_an_empty_variable_is_none(home: Path) -> None:
    user_file(home).write_text('mock = "/m"')
    assert load(home, IEZ_MOCK="").path("mock") == Path("/m")


def test_an_empty_flag_switches_a_setting_off(home: Path) -> None:
    assert load(home, {"mock": ""}, IEZ_MOCK="/m").path("mock") is None


def test_a_path_in_a_file_is_relative_to_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    user_file(home).write_text('mock = "m"\nmock_state = "/etc/s.toml"\nstate_dir = "~/s"\n')
    found = load(home)
    assert found.path("mock") == user_file(home).parent / "m"
    assert found.path("mock_state") == Path("/etc/s.toml")
    assert found.path("state_dir") == Path("/home/me/s")


def test_trace_directory_has_all_origins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert load(home).path("trace_dir") is None
    user_file(home).write_text('trace_dir = "~/traces"')
    assert load(home).path("trace_dir") == Path("/home/me/traces")
    user_file(home).write_text('trace_dir = "traces"')
    assert load(home).path("trace_dir") == user_file(home).parent / "traces"
    assert load(home, IEZ_TRACE_DIR="/t").path("trace_dir") == Path("/t")
    with_flag = load(home, {"trace_dir": "/flag"}, IEZ_TRACE_DIR="/t")
    assert with_flag["trace_dir"] == config.Setting("trace_dir", "/flag", "flag")


def test_a_path_in_a_variable_is_relative_to_the_current_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    assert load(home, IEZ_MOCK="m").path("mock") == home / "m"


def test_xdg_directories_are_honoured_when_absolute(home: Path) -> None:
    (home / "x" / "iez").mkdir(parents=True)
    (home / "x" / "iez" / "config.toml").write_text("refresh_ms = 7")
    assert load(home, XDG_CONFIG_HOME=str(home / "x")).refresh_ms == 7
    assert load(home, XDG_CONFIG_HOME="x").refresh_ms == 1000
    assert load(home, XDG_STATE_HOME="/s").path("state_dir") == Path("/s/iez")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("refresh = 3", "line 1: refresh: no such setting"),
        ("\nrefresh_ms = -1", "line 2: refresh_ms: -1 is not between"),
        ('refresh_ms = "1"', "refresh_ms: is not a whole number"),
        ("mock = 3", "mock: is not a text"),
        ("mock = [", "at end of document"),
        ("\nmock 3", "line 2"),
        ("[mock]\n", "mock: is not a text"),
    ],
)
def test_a_bad_file_is_named_with_its_line(home: Path, text: str, words: str) -> None:
    user_file(home).write_text(text)
    with pytest.raises(ConfigError, match=rf"config\.toml.*{words}"):
        load(home)


@pytest.mark.parametrize("value", ["x", "-1", "1.5", "100000000000"])
def test_a_bad_variable_is_named(home: Path, value: str) -> None:
    with pytest.raises(ConfigError, match="IEZ_REFRESH_MS"):
        load(home, IEZ_REFRESH_MS=value)


def test_a_file_that_cannot_be_read_is_not_passed_over(home: Path) -> None:
    user_file(home).symlink_to("loop")
    (user_file(home).parent / "loop").symlink_to("config.toml")
    with pytest.raises(InputError, match=r"config\.toml"):
        load(home)


def test_the_database_is_a_file_of_the_state_directory_unless_told(home: Path) -> None:
    assert config.database_url(load(home)) == f"sqlite:///{home}/.local/state/iez/iez.db"
    assert config.database_url(load(home, IEZ_STATE_DIR="/s")) == "sqlite:////s/iez.db"
    assert config.database_url(load(home, IEZ_DATABASE="/d/a.db")) == "sqlite:////d/a.db"
    user_file(home).write_text('database = "mine.db"')
    assert config.database_url(load(home)) == f"sqlite:///{user_file(home).parent}/mine.db"
    user_file(home).write_text('database = "mysql://iez@db/iez"')
    assert config.database_url(load(home)) == "mysql://iez@db/iez"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("mysql://iez:geheim@db:3306/iez", "mysql://iez:***@db:3306/iez"),
        ("mysql://iez:ge@heim@db/iez", "mysql://iez:***@db/iez"),
        ("mysql://iez:geheim", "mysql://iez:***"),
        ("mysql://iez@db/iez?password_file=/p", "mysql://iez@db/iez?password_file=/p"),
        ("mysql://db:3306/iez", "mysql://db:3306/iez"),
        ("sqlite:////a:b@c/iez.db", "sqlite:////a:b@c/iez.db"),
        ("a:b@c", "a:b@c"),
    ],
)
def test_a_setting_is_shown_without_its_password(home: Path, address: str, shown: str) -> None:
    setting = load(home, IEZ_DATABASE=address)["database"]
    assert setting.value == address
    assert setting.shown == shown
