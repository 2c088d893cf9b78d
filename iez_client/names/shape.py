"""Shape: the arguments of a program in, what stays of them from run to run out.

Options and plain words stay; numbers become `#`, paths `@`, random words `*`. However options are
written and ordered, the shape is the same.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from iez_client.names.interpreters import base_name
from iez_client.names.looks import EXTENSIONS, is_random

NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"(?:[kKmMgGtTpP]i?[bB]?|[bB]|[munμ]?s|min|h|d|%)?|0[xX][0-9a-fA-F]+"
)
_SHORT = re.compile(r"(-[A-Za-z])([^=]+)")
_SAYS_PATH = re.compile(
    r"(?:.*[-_.])?(?:in|out)?(?:out|output|dir|directory|path|file|filename|prefix|scratch|work|"
    r"workdir|log|restart|config|input)|.*(?:dir|path|file)|-[oidf]",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[0-9]+")
# In a run of letters and digits: one digit between letters belongs to them (h2o).
_COUNT = re.compile(r"\A[0-9]+|[0-9]{2,}|[0-9]\Z")
_RUN = re.compile(r"[A-Za-z0-9]+")
_LETTERS_END = re.compile(r".+\.([A-Za-z]{1,5})")


@dataclass(frozen=True, slots=True)
class Argument:
    """One word, or an option with its value."""

    option: str  # `--out`, `-o`, `of` of `of=…`; empty: a word by itself
    value: str | None  # None: an option without one


def arguments_of(words: Sequence[str]) -> list[Argument]:
    """A word behind an option is taken for its value: who knows what the program makes of it, but
    it is the same in each run."""
    found: list[Argument] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, equals, value = word.partition("=")
        if not _is_option(word):
            is_named = equals and name and "/" not in name
            found.append(Argument(name, value) if is_named else Argument("", word))
        elif equals:
            found.append(Argument(name, value))
        elif short := _glued(word):
            found.append(Argument(short[1], short[2]))
        elif at < len(words) and not _is_option(words[at]) and word != "--":
            found.append(Argument(word, words[at]))
            at += 1
        else:
            found.append(Argument(word, None))
    return found


def shape_of(words: Sequence[str]) -> str:
    """Options first, in the order of their names, then the words by themselves in their own. What
    is behind `--` stays in place."""
    end = words.index("--") if "--" in words else len(words)
    arguments = arguments_of(words[:end])
    # Values of one option stay in their order: roots are told apart by it.
    options = sorted((each for each in arguments if each.option), key=lambda each: each.option)
    others = [each for each in arguments if not each.option]
    return " ".join(map(_shown, (*options, *others, *arguments_of(words[end:]))))


def _shown(argument: Argument) -> str:
    if argument.value is None:
        return argument.option
    value = _folded(argument.value, argument.option)
    if not argument.option:
        return value
    return f"{argument.option}{' ' if argument.option.startswith('-') else '='}{value}"


def is_number(word: str) -> bool:
    """A number or a size, or a list of them."""
    return all(NUMBER.fullmatch(part) for part in re.split("[,:x]", word))


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not is_number(word)


def _glued(word: str) -> re.Match[str] | None:
    """-n8 and -o/scratch/x; not -verbose."""
    short = _SHORT.fullmatch(word)
    return short if short and (is_number(short[2]) or "/" in short[2]) else None


def _folded(value: str, option: str) -> str:
    if is_number(value):
        return re.sub("#(?:,#)+", "#", re.sub("[^,:x]+", "#", value))
    if _is_path(value, option):
        base = base_name(value)
        end = _LETTERS_END.fullmatch(base)
        if not end and base.rpartition(".")[2] not in EXTENSIONS:
            return "@"
        return _with_runs_folded(base, _DIGITS)
    if _LETTERS_END.fullmatch(value):
        return _folded(f"./{value}", option)
    # A format is not another application's number: hdf5 is not hdf4.
    return value if value.lower() in EXTENSIONS else _with_runs_folded(value, _COUNT)


def _with_runs_folded(text: str, numbers: re.Pattern[str]) -> str:
    return _RUN.sub(lambda run: "*" if is_random(run[0]) else numbers.sub("#", run[0]), text)


def _is_path(value: str, option: str) -> bool:
    if "/" in value or value in (".", "..") or value.startswith("~"):
        return True
    return bool(_SAYS_PATH.fullmatch(option.lstrip("-") if len(option) > 2 else option))
