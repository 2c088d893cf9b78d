"""Lines of an export: any record becomes one line of ASCII and comes back."""

from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_common.database.lines import KINDS, of_line, to_line
from iez_common.knowledge import Field, FieldKind

# Bytes as Python gives them: what is no UTF-8 becomes halves of surrogates.
NAMES = st.binary(max_size=50).map(lambda name: name.decode("utf-8", "surrogateescape"))
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES: dict[object, st.SearchStrategy[object]] = {
    str: NAMES,
    int: NUMBERS,
    float: st.floats(allow_nan=False, allow_infinity=False),
    FieldKind: st.sampled_from(get_args(FieldKind)),
    tuple[int, ...]: st.lists(NUMBERS, max_size=5).map(tuple),
    tuple[str, ...]: st.lists(NAMES, max_size=5).map(tuple),
}


def records(kind: type) -> st.SearchStrategy[object]:
    hints = get_type_hints(kind)
    values = {name: VALUES[hint] for name, hint in hints.items()}
    if "identity" in hints:
        values["identity"] = st.integers(0, 2**64 - 1)
    return st.builds(kind, **values)


VALUES[tuple[Field, ...]] = st.lists(records(Field), max_size=3).map(tuple)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_a_record_comes_back(kind: str, data: st.DataObject) -> None:
    record = data.draw(records(KINDS[kind]))
    line = to_line(record)
    assert line.isascii()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert of_line(line) == record


@given(st.binary(max_size=200))
def test_bytes_that_are_no_line_are_refused_in_words(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(it is not|.* is no kind)"):
        of_line(line)
