"""Looks: what a run of letters and digits seems to be when nothing else is known of it."""

import re

# Ends of names whose digits are part of a format's name.
EXTENSIONS = frozenset(
    """h4 h5 he4 he5 hdf4 hdf5 bp3 bp4 bp5 nc3 nc4 mp2 mp3 mp4 jp2 bz2 lz4 f03 f08 f77 f90 f95
    md5 sha1 sha256 sha512""".split()  # noqa: SIM905
)
_STEMS = "|".join(sorted({end.rstrip("0123456789") for end in EXTENSIONS}))
EXTENSION_STEM = re.compile(rf"\.({_STEMS})$")

# Upper case belongs to the lower case behind it: PlotFile has two pieces, aB3xY9 has five.
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_PYTHON_TEMP = r"tmp(?=[a-z]*[0-9_])[a-z0-9_]{8}"
# Names that are random as a whole, though their parts need not look so.
RANDOM_NAME = re.compile(rf"(?<![A-Za-z0-9])(?:{_UUID}|{_PYTHON_TEMP})(?![A-Za-z0-9_])")
_HEX = re.compile(r"[0-9a-f]{8,}|[0-9A-F]{8,}")
TEMPORARY = re.compile(r"tmp|temp")


def is_random(run: str) -> bool:
    """Whether a run of letters and digits, alone, seems to be made by mkstemp, a hash or the like.
    Rather no: words, CamelCase and counters such as p03r12 are not."""
    length = len(run)
    if length < 6 or (run.isalpha() and (run.islower() or run.isupper() or run.istitle())):
        return False
    pieces = _PIECE.findall(run)
    if len(pieces) < 3 or _is_counted(pieces):
        return False
    letters = [piece for piece in pieces if not piece.isdigit()]
    if _HEX.fullmatch(run):
        return len(letters) < len(pieces)
    joined = "".join(letters)
    if not (joined.islower() or joined.isupper()):
        return length <= 2.2 * len(pieces)
    return length >= 8 and len(pieces) >= 4 and max(map(len, letters)) <= 4


def may_be_random(run: str) -> bool:
    """The same among others of its kind: there less is enough."""
    pieces = _PIECE.findall(run)
    enough = 3 if run.isalpha() else 2  # velX is a word
    return len(run) >= 4 and len(pieces) >= enough and not _is_counted(pieces)


def _is_counted(pieces: list[str]) -> bool:
    """Letters that each have a number behind them, all of the same length, such as p03r12."""
    letters, numbers = pieces[::2], pieces[1::2]
    return (
        all(len(each) == 1 and each.isalpha() for each in letters)
        and all(each.isdigit() for each in numbers)
        and len({len(each) for each in numbers}) == 1
        and len(letters) == len(numbers)
    )
