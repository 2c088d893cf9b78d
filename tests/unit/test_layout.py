"""Layouts: Lustre's rules, and the bytes of each form written out by hand.

The hex follows docs/lustre-interface.md field by field; nothing in it comes from our own code.
"""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_common.errors import LayoutError
from iez_common.layout import (
    ALL_STRIPES,
    EOF_BYTES,
    Component,
    Layout,
    plain,
    read_record,
    read_wire,
)

MIB = 1 << 20


def from_hex(*lines: str) -> bytes:
    """Bytes of hex lines; what follows `;` is a comment."""
    return bytes.fromhex(" ".join(line.partition(";")[0] for line in lines))


COUNT_AND_SIZE = from_hex(
    "d00bd10b             ; magic V1",
    "01000000             ; pattern RAID0",
    "0000000000000000 0000000000000000 ; object id",
    "00004000             ; stripe size 4 MiB",
    "0500                 ; stripe count 5",
    "ffff                 ; offset: any",
)
ALL_DEFAULTS = from_hex(
    "d00bd10b 01000000    ; V1, RAID0",
    "0000000000000000 0000000000000000",
    "00000000 0000 ffff   ; default size, default count, any offset",
)
EVERY_OST = from_hex(
    "d00bd10b 01000000    ; V1, RAID0",
    "0000000000000000 0000000000000000",
    "00001000 ffff ffff   ; 1 MiB, all, any offset",
)
WITH_POOL = from_hex(
    "d00bd30b 01000000    ; V3, RAID0",
    "0000000000000000 0000000000000000",
    "00001000 0200 ffff   ; 1 MiB, 2 stripes, any offset",
    "666c617368 0000000000000000000000 ; pool 'flash' in 16 bytes",
)
OST_LIST = from_hex(
    "d00bd50b 01000000    ; SPECIFIC, RAID0",
    "0000000000000000 0000000000000000",
    "00004000 0300 ffff   ; 4 MiB, 3 stripes, offset: the list's first",
    "00000000000000000000000000000000 ; no pool",
    "0000000000000000 0000000000000000 00000000 03000000 ; OST 3",
    "0000000000000000 0000000000000000 00000000 01000000 ; OST 1",
    "0000000000000000 0000000000000000 00000000 2c010000 ; OST 300",
)
LIST_AND_POOL = from_hex(
    "d00bd50b 01000000    ; SPECIFIC, RAID0",
    "0000000000000000 0000000000000000",
    "00000000 0100 ffff   ; default size, 1 stripe",
    "6161616161616161616161616161 61 00 ; pool of 15 letters",
    "0000000000000000 0000000000000000 00000000 00000000 ; OST 0",
)
OVERSTRIPED = from_hex(
    "d00bd50b 01020000    ; SPECIFIC, RAID0 + OVERSTRIPING (0x201)",
    "0000000000000000 0000000000000000",
    "00000100 0300 ffff   ; 64 KiB, 3 stripes",
    "00000000000000000000000000000000",
    "0000000000000000 0000000000000000 00000000 07000000 ; OST 7",
    "0000000000000000 0000000000000000 00000000 07000000 ; OST 7 again",
    "0000000000000000 0000000000000000 00000000 08000000 ; OST 8",
)
OVERSTRIPED_COUNT = from_hex(
    "d00bd10b 01020000    ; V1, RAID0 + OVERSTRIPING",
    "0000000000000000 0000000000000000",
    "00001000 2000 ffff   ; 1 MiB, 32 stripes",
)
COMPOSITE = from_hex(
    "d00bd60b             ; magic COMP",
    "40010000             ; 320 bytes in all: 32 + 2*48 + (48 + 24) + (48 + 3*24)",
    "00000000 0000 0200   ; generation, flags, 2 entries",
    "0000                 ; mirrors minus one",
    "0000 00000000 00000000 00000000 ; padding to 32",
    "00000000 00000000    ; entry 0: id, flags",
    "0000000000000000 0000000400000000 ; 0 to 64 MiB",
    "80000000 48000000    ; at 128, 72 bytes",
    "00000000000000000000000000000000 ; generation, time, padding",
    "00000000 00000000    ; entry 1",
    "0000000400000000 ffffffffffffffff ; 64 MiB to EOF",
    "c8000000 78000000    ; at 200, 120 bytes",
    "00000000000000000000000000000000",
    "d00bd50b 01000000 0000000000000000 0000000000000000 ; first component: SPECIFIC",
    "00001000 0100 ffff 00000000000000000000000000000000 ; 1 MiB, 1 stripe",
    "0000000000000000 0000000000000000 00000000 05000000 ; OST 5",
    "d00bd50b 01000000 0000000000000000 0000000000000000 ; second component: SPECIFIC",
    "00004000 0300 ffff 00000000000000000000000000000000 ; 4 MiB, 3 stripes",
    "0000000000000000 0000000000000000 00000000 02000000 ; OST 2",
    "0000000000000000 0000000000000000 00000000 09000000 ; OST 9",
    "0000000000000000 0000000000000000 00000000 04000000 ; OST 4",
)
DOM_FIRST = from_hex(
    "d00bd60b             ; magic COMP",
    "c0000000             ; 192 bytes: 32 + 2*48 + 32 + 32",
    "00000000 0000 0200 0000 0000 00000000 00000000 00000000",
    "00000000 00000000    ; entry 0",
    "0000000000000000 0000100000000000 ; 0 to 1 MiB",
    "80000000 20000000    ; at 128, 32 bytes",
    "00000000000000000000000000000000",
    "00000000 00000000    ; entry 1",
    "0000100000000000 ffffffffffffffff ; 1 MiB to EOF",
    "a0000000 20000000    ; at 160, 32 bytes",
    "00000000000000000000000000000000",
    "d00bd10b 00010000 0000000000000000 0000000000000000 ; V1, pattern MDT",
    "00001000 0000 ffff   ; its one stripe is the extent: 1 MiB, count 0",
    "d00bd10b 01000000 0000000000000000 0000000000000000 ; V1, RAID0",
    "00004000 0800 ffff   ; 4 MiB, 8 stripes",
)

FORMS = {
    "count and size": (plain(5, 4 * MIB), COUNT_AND_SIZE),
    "all defaults": (plain(), ALL_DEFAULTS),
    "every OST": (plain(ALL_STRIPES, MIB), EVERY_OST),
    "pool": (plain(2, MIB, pool="flash"), WITH_POOL),
    "list": (plain(0, 4 * MIB, (3, 1, 300)), OST_LIST),
    "list and pool": (plain(1, 0, (0,), "a" * 15), LIST_AND_POOL),
    "overstriped list": (plain(0, 65536, (7, 7, 8)), OVERSTRIPED),
    "overstriped count": (Layout((Component(32, MIB, overstripe=True),)), OVERSTRIPED_COUNT),
    "composite": (
        Layout(
            (
                Component(1, MIB, (5,), extent_end_bytes=64 * MIB),
                Component(3, 4 * MIB, (2, 9, 4)),
            )
        ),
        COMPOSITE,
    ),
    "data on the MDT first": (
        Layout((Component(mdt=True, extent_end_bytes=MIB), Component(8, 4 * MIB))),
        DOM_FIRST,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_bytes_that_lustre_takes(form: str) -> None:
    layout, expected = FORMS[form]
    assert layout.wire().hex() == expected.hex()


def test_the_largest_list_is_48_bytes_and_24_an_ost() -> None:
    assert len(plain(0, MIB, tuple(range(2000))).wire()) == 48 + 24 * 2000


@pytest.mark.parametrize("form", FORMS)
def test_a_record_reads_back_as_the_layout_it_was_made_of(form: str) -> None:
    record = FORMS[form][0].record()
    assert read_record(record).record() == record


def test_a_cut_record_is_refused() -> None:
    record = FORMS["composite"][0].record()
    for length in range(len(record)):
        with pytest.raises(LayoutError):
            read_record(record[:length])


def test_lustres_bytes_are_read_for_display() -> None:
    composite = read_wire(COMPOSITE)
    assert composite.composite
    first, second = composite.components
    assert (first.extent_start_bytes, first.extent_end_bytes) == (0, 64 * MIB)
    assert (first.osts, first.stripe_size_bytes) == ((5,), MIB)
    assert second.osts == (2, 9, 4)
    assert second.extent_end_bytes == EOF_BYTES
    assert read_wire(OVERSTRIPED).components[0].pattern_name == "raid0,overstriped"
    assert read_wire(DOM_FIRST).components[0].pattern_name == "mdt"
    assert read_wire(WITH_POOL).components[0].pool == "flash"
    assert read_wire(COUNT_AND_SIZE).components[0].osts == ()


def test_an_answer_of_lustre_is_read() -> None:
    """The real layout comes back as V1: entries begin at 32, the last two bytes of the header are
    the generation, and each object has its id."""
    answer = from_hex(
        "d00bd10b 01000000 0100000000000000 0200000000000000",
        "00004000 0200 0300 ; 4 MiB, 2 stripes, generation 3",
        "1700000000000000 0000000000000000 00000000 0b000000 ; OST 11",
        "1800000000000000 0000000000000000 00000000 02000000 ; OST 2",
    )
    (component,) = read_wire(answer).components
    assert component.osts == (11, 2)
    assert component.generation == 3
    assert component.instantiated


@pytest.mark.parametrize("data", [b"", b"\0" * 32, COMPOSITE[:31], COMPOSITE[:150], OST_LIST[:40]])
def test_other_bytes_are_no_layout(data: bytes) -> None:
    with pytest.raises(LayoutError):
        read_wire(data)


@given(st.binary(max_size=300), st.sampled_from([COMPOSITE, OST_LIST, WITH_POOL]), st.data())
def test_damaged_bytes_are_read_or_refused_but_never_crash(
    noise: bytes, good: bytes, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(good)))
    with contextlib.suppress(LayoutError):
        read_wire(good[:at] + noise)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"stripe_size_bytes": 65535}, "multiple of 64K"),
        ({"stripe_size_bytes": -65536}, "multiple of 64K"),
        ({"stripe_size_bytes": 1 << 32}, "not below 4G"),
        ({"stripe_count": 2001}, "between 0 and 2000"),
        ({"stripe_count": -2}, "between 0 and 2000"),
        ({"osts": tuple(range(2001))}, "2000 is the most"),
        ({"osts": (1, 2, 1)}, "twice without overstriping"),
        ({"osts": (-1,)}, "not an OST index"),
        ({"osts": (65535,)}, "not an OST index"),
        ({"osts": (1, 2), "stripe_count": 3}, "does not agree"),
        ({"osts": (1, 2), "stripe_count": ALL_STRIPES}, "does not agree"),
        ({"pool": "x" * 16}, "longer than 15"),
        ({"pool": "a b"}, "other characters"),
        ({"pool": "ü"}, "other characters"),
        ({"mdt": True, "osts": (1,)}, "on the MDT has no"),
        ({"mdt": True, "stripe_size_bytes": 65536}, "no stripe size of its own"),
        ({"mdt": True, "extent_end_bytes": 1 << 33}, "below 4G"),
    ],
)
def test_a_component_that_lustre_would_refuse_is_refused(
    values: dict[str, object], words: str
) -> None:
    with pytest.raises(LayoutError, match=words):
        Component(**values)  # type: ignore[arg-type]


def to(end_bytes: int, **values: object) -> Component:
    return Component(extent_end_bytes=end_bytes, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("components", "words"),
    [
        ((), "at least one"),
        ((to(MIB),), "does not end at eof"),
        ((to(EOF_BYTES), to(EOF_BYTES)), "only the last"),
        ((to(2 * MIB), to(MIB), to(EOF_BYTES)), "not behind where it begins"),
        ((to(MIB), to(MIB), to(EOF_BYTES)), "not behind where it begins"),
        ((to(MIB + 1), to(EOF_BYTES)), "multiple of 64K"),
        ((to(3 * MIB, stripe_size_bytes=2 * MIB), to(EOF_BYTES)), "multiple of its stripe size"),
        ((to(2 * MIB, stripe_size_bytes=MIB, stripe_count=3), to(EOF_BYTES)), "room for 2"),
        ((to(2 * MIB, stripe_size_bytes=MIB, osts=(1, 2, 3)), to(EOF_BYTES)), "room for 2"),
        ((to(MIB), to(2 * MIB, mdt=True), to(EOF_BYTES)), "only in the first"),
        ((to(EOF_BYTES, mdt=True),), "only in the first"),
    ],
)
def test_components_that_do_not_fit_together_are_refused(
    components: tuple[Component, ...], words: str
) -> None:
    with pytest.raises(LayoutError, match=words):
        Layout(components)


def test_a_component_may_use_every_stripe_that_fits() -> None:
    Layout((to(4 * MIB, stripe_size_bytes=MIB, osts=(1, 2, 3, 4)), to(EOF_BYTES)))
    Layout((to(4 * MIB, stripe_size_bytes=MIB, stripe_count=ALL_STRIPES), to(EOF_BYTES)))
