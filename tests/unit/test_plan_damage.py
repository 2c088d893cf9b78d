"""Damaged plans: the loader and the look-up never read outside of what is there."""

import contextlib
import random
from pathlib import Path

import pytest
from fuzz_programs import run_fuzzer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iez_client.filesystems import FileSystem, Ost, from_list
from iez_client.plan.bind import bind, rebind
from iez_client.plan.compile import compile_draft
from iez_client.plan.draft import Draft, Rule
from iez_client.plan.image import HEADER_BYTES
from iez_client.plan.read import Plan
from iez_client.plan.template import encode, parse
from iez_common._core import ffi, lib
from iez_common.errors import IezError, PlanError
from iez_common.layout import Component, Layout, plain

LUSTRE = from_list(Path("/l"), range(15))


def rich_image() -> bytearray:
    """A plan with something of everything."""
    mock = FileSystem(lib.IEZ_KIND_MOCK, "/m", (Ost(0, 8), Ost(7)), ("/alias",), 28)
    composite = Layout(
        (Component(1, 1 << 20, (1,), extent_end_bytes=1 << 20), Component(2, 1 << 20, (4, 5)))
    )
    names = {f"/l/f{i}": plain(1, 65536, (i % 15,)) for i in range(20)}
    names |= {"/l/c": composite, "/l/p": plain(3, pool="flash"), "/m/x": plain(0, 0, (0, 7))}
    names |= {
        "/l/*/s_#/p#.h5": plain(2),
        "/l/tmp*": plain(3),
        "/l/d/**": composite,
        "/m/**": plain(2),
    }
    names |= {"/l/wide": plain(0, 65536, tuple(range(15)))}
    draft = Draft(file_systems=(LUSTRE, mock))
    for line, (text, layout) in enumerate(names.items(), 1):
        draft.add_name(parse(text), draft.add_layout(layout), line)
    options = [draft.add_layout(plain(1, 65536, (ost,))) for ost in range(5)]
    draft.add_rule(Rule(parse("/l/turn_#"), options, 1))
    return bind(compile_draft(draft), [LUSTRE, mock], 1000)


FUZZ_PATHS = [
    "/l/f0", "/l/f19", "/l/c", "/l/p", "/m/x", "/alias/x", "/l/run/s_1/p22.h5", "/l/tmpAbC9",
    "/l/d/e/f", "/m/a/b/c", "/l/turn_00000000000000000000000018446744073709551616", "/l/none",
    "/l/wide", "/other/none", "/l/" + "a/" * 1500 + "x",
]  # fmt: skip


def test_any_changed_byte_of_the_body_is_seen_by_the_check() -> None:
    image = rich_image()
    Plan(bytes(image), "test").verify()
    for at in range(HEADER_BYTES, len(image), 3):
        damaged = bytearray(image)
        damaged[at] ^= 0x10
        with pytest.raises(PlanError):
            Plan(damaged, "test").verify()


class Damage:
    """Damages a plan's bytes, and mends the header so that the checks behind it are reached."""

    def __init__(self, image: bytes, seed: int) -> None:
        self.image = image
        self.random = random.Random(seed)

    def once(self) -> bytearray:
        rng, data = self.random, bytearray(self.image)
        if rng.random() < 0.1:
            del data[rng.randrange(len(data)) :]
        for _ in range(rng.randint(1, 4)):
            if not data:
                break
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                at &= ~7
                odd = [0, 1, 7, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1]
                value = rng.choice([*odd, rng.randrange(len(data) + 8), rng.getrandbits(64)])
                size = rng.choice([2, 4, 8])
                data[at : at + size] = value.to_bytes(8, "little")[: len(data[at : at + size])]
            elif kind == 2:
                piece = data[at : at + rng.randrange(200)]
                to = rng.randrange(len(data))
                data[to : to + len(piece)] = piece[: len(data) - to]
            else:
                data[rng.randrange(min(len(data), HEADER_BYTES))] = rng.randrange(256)
        if rng.random() < 0.8 and len(data) >= HEADER_BYTES:
            mend(data)
        return data


def mend(data: bytearray) -> None:
    header = ffi.new("struct iez_plan_header *")
    ffi.memmove(header, bytes(data[:HEADER_BYTES]), HEADER_BYTES)
    header.magic, header.version = lib.IEZ_PLAN_MAGIC, lib.IEZ_PLAN_VERSION
    header.header_bytes, header.file_bytes = HEADER_BYTES, len(data)
    header.header_checksum = lib.iez_plan_header_hash(header)
    data[:HEADER_BYTES] = ffi.buffer(header)


def use_damaged(data: bytearray) -> tuple[int, int]:
    """Looks every path up; how many were found, and how many requests could be made."""
    plan = ffi.new("struct iez_plan *")
    found = ffi.new("struct iez_found *")
    scratch = ffi.new("char[]", lib.IEZ_PATH_MAX)
    wire = ffi.new("unsigned char[]", lib.IEZ_WIRE_MAX)
    whole = ffi.from_buffer(data)
    if lib.iez_plan_use(whole, len(data), plan) != ffi.NULL:
        return 0, 0
    found_count = encoded_count = 0
    for path in map(encode, FUZZ_PATHS):
        if lib.iez_plan_find(plan, path, len(path), scratch, found) != ffi.NULL:
            continue
        if found.prefix == ffi.NULL or found.layout == ffi.NULL:
            continue
        found_count += 1
        lib.iez_plan_unknown_ost(plan, found.prefix, found.layout, found.layout_bytes)
        length = lib.iez_layout_encode(found.layout, found.layout_bytes, wire, lib.IEZ_WIRE_MAX)
        encoded_count += length > 0
    return found_count, encoded_count


def test_ten_thousand_damaged_plans_do_no_harm() -> None:
    damage = Damage(bytes(rich_image()), seed=1)
    reached = [use_damaged(damage.once()) for _ in range(10_000)]
    # Most must get past the header, or nothing behind it was tested.
    assert sum(1 for found, _ in reached if found) > 3_000
    assert sum(encoded for _, encoded in reached) > 30_000


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_reading_a_damaged_plan_ends_in_words_not_in_a_traceback(seed: int) -> None:
    data = Damage(bytes(rich_image()), seed).once()
    with contextlib.suppress(IezError):
        Plan(data, "test").verify()
    with contextlib.suppress(IezError):
        plan = Plan(data, "test")
        for path in map(encode, FUZZ_PATHS):
            plan.find(path)
        rebind(plan, [LUSTRE], 1)


@given(st.binary(max_size=4096))
def test_random_bytes_are_no_plan(data: bytes) -> None:
    with pytest.raises(PlanError):
        Plan(data, "test")


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_plans_are_read_within_their_bounds(tmp_path: Path, seed: int) -> None:
    """The same under AddressSanitizer, which sees every byte that is read outside the plan."""
    (tmp_path / "plan").write_bytes(rich_image())
    words = (str(tmp_path / "plan"), str(seed), "10000", *FUZZ_PATHS)
    reached = run_fuzzer(tmp_path, "fuzz_plan", ("plan", "template", "layout"), *words)
    assert reached["used"] > 5_000
    assert reached["encoded"] > 20_000
    assert reached["damaged"] > 0
