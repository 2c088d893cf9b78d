"""Units: sizes and index sets as people write them, and back."""

import re

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgtpe]?)(?:i?b)?\s*", re.IGNORECASE | re.ASCII)
_DIGITS_MAX = 100  # of a size; Python itself refuses to convert some thousands
_LETTERS = ("", "K", "M", "G", "T", "P", "E")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
INDICES_MAX = 65536


def parse_size_bytes(text: str) -> int:
    """Bytes of a size such as `4M`, `64k`, `1.5GiB`, `65536`; letters are powers of 1024."""
    match = _SIZE.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a size such as 4M")
    number, letter = match.groups()
    if len(number) > _DIGITS_MAX:
        raise ValueError(f"a number of {len(number)} digits is not a size such as 4M")
    unit_bytes: int = 1024 ** _LETTERS.index(letter.upper())
    whole, point, fraction = number.partition(".")
    if point and not letter:
        raise ValueError(f"{text!r} is not a whole number of bytes")
    # Not by a float, which cannot hold 1.1T exactly; what is left below a byte is dropped.
    return int(whole + fraction) * unit_bytes // int(f"1{'0' * len(fraction)}")


def format_size(size_bytes: int) -> str:
    """The shortest exact form: 4194304 is `4M`, 65537 stays `65537`."""
    power = 0
    while size_bytes and size_bytes % 1024 == 0 and power < len(_LETTERS) - 1:
        size_bytes //= 1024
        power += 1
    return f"{size_bytes}{_LETTERS[power]}"


def format_about(size_bytes: int) -> str:
    """A size for the eye: 1536 is `1.5K`, 4210688 `4.0M`."""
    value, power = float(size_bytes), 0
    while value >= 1023.95 and power < len(_LETTERS) - 1:
        value /= 1024
        power += 1
    return f"{value:.1f}{_LETTERS[power]}" if power else str(size_bytes)


def parse_indices(text: str) -> tuple[int, ...]:
    """Sorted distinct indices of a set such as `0-14,20` (commas or blanks between)."""
    found: set[int] = set()
    words = text.replace(",", " ").split()
    if not words:
        raise ValueError("no index is given")
    for word in words:
        match = _RANGE.fullmatch(word)
        if not match:
            raise ValueError(f"{word!r} is neither an index nor a range such as 0-14")
        first = int(match[1])
        last = int(match[2] or match[1])
        if last < first:
            raise ValueError(f"{word!r} counts backwards")
        if last >= INDICES_MAX:
            raise ValueError(f"{word!r} is above the largest index, {INDICES_MAX - 1}")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def format_indices(indices: tuple[int, ...] | list[int]) -> str:
    """The set as ranges: `0-14,20`."""
    parts: list[str] = []
    ordered = sorted(set(indices))
    start = 0
    for i, index in enumerate(ordered):
        if i + 1 < len(ordered) and ordered[i + 1] == index + 1:
            continue
        first = ordered[start]
        parts.append(str(first) if first == index else f"{first}-{index}")
        start = i + 1
    return ",".join(parts)
