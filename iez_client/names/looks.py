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
_WORD = r"(?:[0-9]+|[A-Z]?[a-z]+|[A-Z]+)(?![A-Za-z0-9])"
_SHELL_TEMP = rf"(?<=tmp[._-])(?!{_WORD})[A-Za-z0-9]{{6,10}}"
# Names that are random as a whole, though their parts need not look so.
RANDOM_NAME = re.compile(rf"(?<![A-Za-z0-9])(?:{_UUID}|{_SHELL_TEMP})(?![A-Za-z0-9_])")
_ELEMENTS = """H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga
    Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu
    Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po Th U Pu"""
_FORMULA = re.compile(f"(?:(?:{'|'.join(_ELEMENTS.split())})[0-9]{{0,3}})+")
_HEX = re.compile(r"[0-9a-f]{8,}|[0-9A-F]{8,}")
TEMPORARY = re.compile(r"tmp|temp")


def is_random(run: str) -> bool:
    """Whether a run of letters and digits, alone, seems to be made by mkstemp, a hash or the like.
    Rather no: words, CamelCase, formulas (Al2O3SiO2) and counters (p03r12) are not."""
    length = len(run)
    if length < 6 or (run.isalpha() and (run.islower() or run.isupper() or run.istitle())):
        return False
    pieces = _PIECE.findall(run)
    if len(pieces) < 3 or _is_counted(pieces) or _FORMULA.fullmatch(run):
        return False
    letters = [piece for piece in pieces if not piece.isdigit()]
    if _HEX.fullmatch(run):
        return len(letters) < len(pieces)
    joined = "".join(letters)
    if not (joined.islower() or joined.isupper()):
        # In a short one by chance more of its pieces are single.
        at_most, longest = (2.4, 4) if length > 8 else (1.9, 3)
        return length <= at_most * len(pieces) and max(map(len, letters)) <= longest
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
