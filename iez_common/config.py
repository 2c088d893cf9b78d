"""Settings: each with the place it comes from. A flag beats IEZ_*, that beats the user's file,
that beats the site's file, that beats the default."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from iez_common.errors import ConfigError

SITE_FILE = Path("/etc/iez/site.toml")
REFRESH_MS_MAX = 86_400_000
LEARN = ("now", "later", "off")


@dataclass(frozen=True, slots=True)
class Known:
    """A setting that exists."""

    name: str
    help: str
    kind: Literal["path", "number", "database", "word"] = "path"

    @property
    def variable(self) -> str:
        return f"IEZ_{self.name.upper()}"


KNOWN = (
    Known(
        "database",
        "where iez remembers: file or mysql://…; default: iez.db in state_dir",
        "database",
    ),
    Known("learn", "from what a run wrote: now, later (in the background) or off", "word"),
    Known("mock", "directory that is treated as Lustre"),
    Known("mock_state", "state file of the mock; default: iez-mock.toml in that directory"),
    Known("policy", "what the site allows when OSTs are chosen; default: policy.toml in /etc/iez"),
    Known("refresh_ms", "how often a process looks for a newer plan; 0: never", "number"),
    Known("state_dir", "where iez keeps what it remembers"),
    Known("trace_dir", "where jobs leave their traces; default: a new one in state_dir for each"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and its origin: `flag`, a variable's name, a file's name or `default`."""

    name: str
    value: str
    origin: str

    @property
    def shown(self) -> str:
        """The value without a password that is part of it."""
        return without_password(self.value)


@dataclass(frozen=True, slots=True)
class Config:
    """All settings."""

    settings: tuple[Setting, ...]

    def __getitem__(self, name: str) -> Setting:
        return next(setting for setting in self.settings if setting.name == name)

    def path(self, name: str) -> Path | None:
        """The setting as an absolute path; None if it is empty."""
        value = self[name].value
        return Path(os.path.abspath(value)) if value else None  # noqa: PTH100 - lexical on purpose

    @property
    def refresh_ms(self) -> int:
        return int(self["refresh_ms"].value)


def database_url(config: Config) -> str:
    """The address of the interaction database."""
    value = config["database"].value
    if "://" in value:
        return value
    return f"sqlite:///{config.path('database') or Path(config['state_dir'].value) / 'iez.db'}"


def without_password(text: str) -> str:
    """An address with `***` in place of its password."""
    scheme, mark, rest = text.partition("://")
    if not mark or scheme == "sqlite":
        return text
    # The last @: one in the password itself should be %40, but must not give the rest of it away.
    account, at, place = rest.rpartition("@")
    user, colon, password = (account or rest).partition(":")
    if not colon or (not at and password.partition("/")[0].isdigit()):
        return text
    return f"{scheme}{mark}{user}:***{at}{place if at else ''}"


def user_file(environ: Mapping[str, str]) -> Path:
    """The user's settings file."""
    return xdg_home(environ, "XDG_CONFIG_HOME", ".config") / "iez" / "config.toml"


def load(
    flags: Mapping[str, str | None] | None = None,
    environ: Mapping[str, str] = os.environ,
    site_file: Path = SITE_FILE,
) -> Config:
    """Collects the settings. `flags` are those of the command line, None where not given."""
    found = {
        "database": Setting("database", "", "default"),
        "learn": Setting("learn", LEARN[0], "default"),
        "mock": Setting("mock", "", "default"),
        "mock_state": Setting("mock_state", "", "default"),
        "policy": _default_policy(site_file.parent / "policy.toml"),
        "refresh_ms": Setting("refresh_ms", "1000", "default"),
        "state_dir": Setting("state_dir", str(_state_home(environ) / "iez"), "default"),
        "trace_dir": Setting("trace_dir", "", "default"),
    }
    for path in (site_file, user_file(environ)):
        # Not Path.exists: a settings file that may not be read must not pass as absent.
        if os.path.lexists(path):
            found.update(_from_file(path))
    for known in KNOWN:
        if value := environ.get(known.variable):
            found[known.name] = Setting(known.name, value, known.variable)
        flag = (flags or {}).get(known.name)
        if flag is not None:
            found[known.name] = Setting(known.name, flag, "flag")
    _check_refresh(found["refresh_ms"])
    _check_learn(found["learn"])
    return Config(tuple(found[known.name] for known in KNOWN))


def _from_file(path: Path) -> dict[str, Setting]:
    # Most machines have neither file: they need not pay for the TOML reader.
    from iez_common import tomlfile

    table = tomlfile.read(path)
    table.allow(known.name for known in KNOWN)
    found = {}
    for known in KNOWN:
        if known.name not in table.values:
            continue
        if known.kind == "number":
            value = str(table.integer(known.name, 0, 0, REFRESH_MS_MAX))
        elif known.kind == "word" or (
            known.kind == "database" and "://" in table.string(known.name)
        ):
            value = table.string(known.name)
        else:
            # A path in a file is relative to that file: the current directory may be any.
            text = os.path.expanduser(table.string(known.name))  # noqa: PTH111
            value = str(path.parent / text) if text else ""
        found[known.name] = Setting(known.name, value, str(path))
    return found


def _default_policy(path: Path) -> Setting:
    return Setting("policy", str(path) if os.path.lexists(path) else "", "default")


def _check_refresh(setting: Setting) -> None:
    if not setting.value.isascii() or not setting.value.isdigit():
        raise ConfigError(
            f"refresh_ms ({setting.origin}): {setting.value!r} is not a number of milliseconds",
            "1000",
        )
    if int(setting.value) > REFRESH_MS_MAX:
        raise ConfigError(f"refresh_ms ({setting.origin}) is more than a day", "1000")


def _check_learn(setting: Setting) -> None:
    if setting.value not in LEARN:
        raise ConfigError(
            f"learn ({setting.origin}): there is no {setting.value!r}",
            f"one of: {', '.join(LEARN)}",
        )


def _state_home(environ: Mapping[str, str]) -> Path:
    return xdg_home(environ, "XDG_STATE_HOME", ".local/state")


def xdg_home(environ: Mapping[str, str], variable: str, default: str) -> Path:
    """A base directory of the XDG rules, which ignore a relative one."""
    value = environ.get(variable, "")
    if value.startswith("/"):
        return Path(value)
    return Path(environ.get("HOME") or "/") / default
