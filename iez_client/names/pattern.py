"""Pattern: the text of a template taken apart, and put together again."""

import re
from dataclasses import dataclass
from functools import cached_property

from iez_client.plan.template import escape

NUMBER = "#"
ALNUM = "*"
DIRECTORY = "/*"  # a `*` that is a whole directory's name
# A field takes the longest run there is and gives nothing back, as in the library.
_TAKES = {NUMBER: "([0-9]++)", ALNUM: "([A-Za-z0-9]++)", DIRECTORY: "([^/]++)"}
_SYMBOL = re.compile(r"\{[^}]*\}")
_TOKEN = re.compile(r"\\(.)|(/\*(?=/)|#|\*)|([^\\#*/]+|/)", re.DOTALL)
_PREFERENCE = {NUMBER: 1, ALNUM: 2, DIRECTORY: 3}


@dataclass(frozen=True)
class Pattern:
    """A name with fields: literals stand before, between and behind the marks of the fields."""

    symbol: str  # of its root; empty: it is absolute
    literals: tuple[str, ...]
    marks: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        parts = [self.symbol, escape(self.literals[0])]
        for mark, literal in zip(self.marks, self.literals[1:], strict=True):
            parts += (mark[-1], escape(literal))
        return "".join(parts)

    @cached_property
    def regex(self) -> re.Pattern[str]:
        parts = [re.escape(self.literals[0])]
        for mark, literal in zip(self.marks, self.literals[1:], strict=True):
            parts += (_TAKES[mark], re.escape(literal))
        return re.compile("".join(parts), re.DOTALL)

    def values(self, rest: str) -> tuple[str, ...] | None:
        """What stands for the fields in a name without its root; None: it does not match."""
        found = self.regex.fullmatch(rest)
        return found.groups() if found else None

    def fill(self, values: tuple[str, ...]) -> str:
        """The name, without its root, that has these values."""
        parts = [self.literals[0]]
        for value, literal in zip(values, self.literals[1:], strict=True):
            parts += (value, literal)
        return "".join(parts)

    def preference(self) -> tuple[int, ...]:
        """Orders patterns that match the same name as the library does: the first difference
        decides, and a literal is preferred to a number, that to `*`, that to a directory."""
        order = [0] * len(self.literals[0])
        for mark, literal in zip(self.marks, self.literals[1:], strict=True):
            order += [_PREFERENCE[mark], *[0] * len(literal)]
        return tuple(order)


def pattern_of(text: str) -> Pattern:
    """Takes the text of a template apart."""
    found = _SYMBOL.match(text)
    symbol = found[0] if found else ""
    literals = [""]
    marks = []
    for token in _TOKEN.finditer(text, len(symbol)):
        escaped, mark, literal = token.groups()
        if mark is None:
            literals[-1] += literal or escaped
            continue
        if mark == DIRECTORY:
            literals[-1] += "/"
        marks.append(mark)
        literals.append("")
    return Pattern(symbol, tuple(literals), tuple(marks))
