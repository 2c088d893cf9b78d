"""Layouts: how a file is spread over OSTs, as records of a plan and as Lustre's own bytes.

The rules are Lustre's (docs/lustre-interface.md); a layout that breaks one is refused here, where
its line in the user's file is known, and not by the MDS in the middle of a job.
"""

import re
from dataclasses import dataclass

from iez_common._core import ffi, lib
from iez_common.errors import LayoutError
from iez_common.units import format_size

EOF_BYTES: int = lib.IEZ_EXTENT_EOF
ALL_STRIPES: int = lib.IEZ_STRIPE_COUNT_ALL
_UNIT_BYTES: int = lib.IEZ_STRIPE_SIZE_UNIT
_COUNT_MAX: int = lib.IEZ_STRIPE_COUNT_MAX
_POOL_CHARS_MAX: int = lib.IEZ_POOL_NAME_BYTES - 1
_OST_MAX = 0xFFFE  # the record holds 16 bits and 0xFFFF is "any" to Lustre
_POOL = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Component:
    """One extent of a file; a plain layout is one component that ends at EOF."""

    stripe_count: int = 0  # 0: the default; ALL_STRIPES: every OST
    stripe_size_bytes: int = 0  # 0: the default
    osts: tuple[int, ...] = ()  # empty: the MDS chooses
    pool: str = ""
    overstripe: bool = False  # an OST may hold several stripes
    mdt: bool = False  # the data lies on the MDT (DoM)
    extent_end_bytes: int = EOF_BYTES

    def __post_init__(self) -> None:
        _check_size(self.stripe_size_bytes)
        _check_count(self)
        _check_osts(self)
        _check_pool(self.pool)
        if self.mdt:
            _check_mdt(self)

    @property
    def pattern(self) -> int:
        if self.mdt:
            return int(lib.IEZ_PATTERN_MDT)
        extra = lib.IEZ_PATTERN_OVERSTRIPING if self.overstripe else 0
        return int(lib.IEZ_PATTERN_RAID0 | extra)

    def record(self) -> bytes:
        """The bytes of struct iez_component and its list."""
        component = ffi.new("struct iez_component *")
        component.extent_end = self.extent_end_bytes
        # The whole DoM component is one stripe: Lustre wants its size to be the extent's.
        component.stripe_size_bytes = self.extent_end_bytes if self.mdt else self.stripe_size_bytes
        component.pattern = self.pattern
        component.stripe_count = len(self.osts) or self.stripe_count
        component.ost_count = len(self.osts)
        component.pool = self.pool.encode("ascii")
        data = bytes(ffi.buffer(component)) + bytes(
            ffi.buffer(ffi.new("uint16_t[]", list(self.osts)))
        )
        return data + bytes(-len(data) % 8)


@dataclass(frozen=True, slots=True)
class Layout:
    """What one file is to get: one component, or several that follow each other (PFL)."""

    components: tuple[Component, ...]

    def __post_init__(self) -> None:
        if not self.components:
            raise LayoutError("a layout needs at least one component")
        start_bytes = 0
        for number, component in enumerate(self.components):
            last = number == len(self.components) - 1
            _check_extent(component, start_bytes, last)
            if component.mdt and (number > 0 or last):
                raise LayoutError(
                    "data on the MDT is possible only in the first of several components",
                    "add a component that ends at eof behind it",
                )
            start_bytes = component.extent_end_bytes

    @property
    def osts(self) -> tuple[int, ...]:
        """Every OST that the layout names, components one after the other."""
        return tuple(ost for component in self.components for ost in component.osts)

    def record(self) -> bytes:
        """The bytes of struct iez_layout, as a plan file holds them."""
        parts = b"".join(component.record() for component in self.components)
        head = ffi.new("struct iez_layout *")
        head.bytes = ffi.sizeof("struct iez_layout") + len(parts)
        head.component_count = len(self.components)
        return bytes(ffi.buffer(head)) + parts

    def wire(self) -> bytes:
        """The request as the ioctl takes it."""
        record = self.record()
        layout = ffi.cast("struct iez_layout *", ffi.from_buffer(record))
        wire = ffi.new("unsigned char[]", lib.IEZ_WIRE_MAX)
        length = lib.iez_layout_encode(layout, len(record), wire, lib.IEZ_WIRE_MAX)
        if length < 0:
            raise LayoutError(f"the layout's request is larger than {lib.IEZ_WIRE_MAX} bytes")
        return bytes(ffi.buffer(wire, length))


def plain(
    stripe_count: int = 0,
    stripe_size_bytes: int = 0,
    osts: tuple[int, ...] = (),
    pool: str = "",
) -> Layout:
    """A layout of one component; an OST that is listed twice means overstriping."""
    overstripe = len(set(osts)) < len(osts)
    return Layout((Component(stripe_count, stripe_size_bytes, osts, pool, overstripe),))


def read_record(data: bytes | memoryview) -> Layout:
    """The layout of a plan's record. Raises LayoutError for bytes that are none."""
    head_bytes = ffi.sizeof("struct iez_layout")
    component_bytes = ffi.sizeof("struct iez_component")
    if len(data) < head_bytes:
        raise LayoutError("the record is cut off")
    head = ffi.new("struct iez_layout *")
    ffi.memmove(head, bytes(data[:head_bytes]), head_bytes)
    if head.bytes > len(data):
        raise LayoutError("the record is cut off")
    components = []
    at = head_bytes
    for _ in range(head.component_count):
        list_at = at + component_bytes
        if list_at > head.bytes:
            raise LayoutError("the record is cut off")
        raw = ffi.new("struct iez_component *")
        ffi.memmove(raw, bytes(data[at:list_at]), component_bytes)
        list_end = list_at + 2 * raw.ost_count
        if list_end > head.bytes:
            raise LayoutError("the record is cut off")
        osts = ffi.new("uint16_t[]", raw.ost_count)
        ffi.memmove(osts, bytes(data[list_at:list_end]), list_end - list_at)
        components.append(_component_of(raw, tuple(osts)))
        at = list_end + (-list_end % 8)
    return Layout(tuple(components))


def _component_of(raw: object, osts: tuple[int, ...]) -> Component:
    fields = ffi.cast("struct iez_component *", raw)
    mdt = bool(fields.pattern & lib.IEZ_PATTERN_MDT)
    return Component(
        stripe_count=fields.stripe_count,
        stripe_size_bytes=0 if mdt else fields.stripe_size_bytes,
        osts=osts,
        pool=ffi.string(fields.pool).decode("ascii", "replace"),
        overstripe=bool(fields.pattern & lib.IEZ_PATTERN_OVERSTRIPING),
        mdt=mdt,
        extent_end_bytes=fields.extent_end,
    )


def _check_size(stripe_size_bytes: int) -> None:
    if stripe_size_bytes < 0 or stripe_size_bytes % _UNIT_BYTES:
        raise LayoutError(
            f"stripe size {stripe_size_bytes} is not a multiple of 64K",
            f"{format_size(max(1, -(-stripe_size_bytes // _UNIT_BYTES)) * _UNIT_BYTES)} is one",
        )
    if stripe_size_bytes >= 1 << 32:
        raise LayoutError(
            f"stripe size {format_size(stripe_size_bytes)} is not below 4G",
            "the largest is 4194240K",
        )


def _check_count(component: Component) -> None:
    count, listed = component.stripe_count, len(component.osts)
    if not 0 <= count <= _COUNT_MAX and count != ALL_STRIPES:
        raise LayoutError(
            f"stripe count {count} is not between 0 and {_COUNT_MAX}", "-1 means every OST"
        )
    if listed > _COUNT_MAX:
        raise LayoutError(f"the list names {listed} OSTs; {_COUNT_MAX} is the most")
    if listed and count and count != listed:
        shown = "-1" if count == ALL_STRIPES else str(count)
        raise LayoutError(
            f"stripe count {shown} does not agree with the list of {listed} OSTs",
            "leave the count empty: the list decides",
        )


def _check_osts(component: Component) -> None:
    seen: set[int] = set()
    for ost in component.osts:
        if not 0 <= ost <= _OST_MAX:
            raise LayoutError(f"{ost} is not an OST index")
        if ost in seen and not component.overstripe:
            raise LayoutError(f"OST {ost} is listed twice without overstriping")
        seen.add(ost)


def _check_pool(pool: str) -> None:
    if pool and len(pool) > _POOL_CHARS_MAX:
        raise LayoutError(f"pool name {pool!r} is longer than {_POOL_CHARS_MAX} characters")
    if pool and not _POOL.fullmatch(pool):
        raise LayoutError(f"pool name {pool!r} has other characters than A-Z a-z 0-9 _ . -")


def _check_mdt(component: Component) -> None:
    if component.osts or component.pool or component.overstripe or component.stripe_count:
        raise LayoutError("a component on the MDT has no stripe count, OSTs or pool")
    if component.stripe_size_bytes not in (0, component.extent_end_bytes):
        raise LayoutError("a component on the MDT has no stripe size of its own")
    if component.extent_end_bytes >= 1 << 32 and component.extent_end_bytes != EOF_BYTES:
        raise LayoutError("a component on the MDT ends below 4G")


def _check_extent(component: Component, start_bytes: int, last: bool) -> None:
    end_bytes = component.extent_end_bytes
    if last:
        if end_bytes != EOF_BYTES:
            raise LayoutError("the last component does not end at eof")
        return
    if end_bytes == EOF_BYTES:
        raise LayoutError("only the last component ends at eof")
    shown = format_size(end_bytes)
    if end_bytes <= start_bytes:
        raise LayoutError(f"a component ends at {shown}, not behind where it begins")
    if end_bytes % _UNIT_BYTES:
        raise LayoutError(f"a component ends at {shown}, which is not a multiple of 64K")
    size_bytes = component.stripe_size_bytes
    if not size_bytes or component.mdt:
        return
    if end_bytes % size_bytes:
        raise LayoutError(
            f"a component ends at {shown}, which is not a multiple of its stripe size "
            f"{format_size(size_bytes)}"
        )
    # The MDS would cut the count silently, and the read-back would not be what was asked for.
    room = -(-(end_bytes - start_bytes) // size_bytes)
    count = len(component.osts) or component.stripe_count
    if count != ALL_STRIPES and count > room:
        raise LayoutError(
            f"a component from {format_size(start_bytes)} to {shown} has room for {room} stripes "
            f"of {format_size(size_bytes)}, not {count}",
            "use fewer OSTs, a smaller stripe size or a longer extent",
        )


@dataclass(frozen=True, slots=True)
class WireComponent:
    """One component of a layout that a file has, as Lustre tells it."""

    extent_start_bytes: int
    extent_end_bytes: int
    pattern: int
    stripe_size_bytes: int
    stripe_count: int
    generation: int
    instantiated: bool  # its objects exist; a later component gets them when it is written
    osts: tuple[int, ...]
    pool: str

    @property
    def pattern_name(self) -> str:
        """As `lfs getstripe` prints it."""
        if self.pattern & lib.IEZ_PATTERN_MDT:
            return "mdt"
        over = self.pattern & lib.IEZ_PATTERN_OVERSTRIPING
        return "raid0,overstriped" if over else "raid0"


@dataclass(frozen=True, slots=True)
class WireLayout:
    """The layout that a file has."""

    composite: bool
    components: tuple[WireComponent, ...]


def read_wire(data: bytes) -> WireLayout:
    """Decodes Lustre's bytes, requests as well as answers. Raises LayoutError for other bytes."""
    wire = ffi.from_buffer("unsigned char[]", data)
    count = lib.iez_wire_components(wire, len(data))
    if count < 1:
        raise LayoutError(f"{len(data)} bytes that are no Lustre layout this version knows")
    view = ffi.new("struct iez_component_view *")
    components = []
    for i in range(count):
        if lib.iez_wire_component(wire, len(data), i, view) != 0:
            raise LayoutError(f"component {i} of the layout is damaged")
        objects = range(view.object_count)
        components.append(
            WireComponent(
                extent_start_bytes=view.extent_start,
                extent_end_bytes=view.extent_end,
                pattern=view.pattern,
                stripe_size_bytes=view.stripe_size,
                stripe_count=view.stripe_count,
                generation=view.generation,
                instantiated=bool(view.flags & lib.IEZ_COMPONENT_INSTANTIATED),
                osts=tuple(lib.iez_wire_ost(view, k) for k in objects),
                pool=ffi.string(view.pool).decode("ascii", "replace"),
            )
        )
    magic = int.from_bytes(data[:4], "little")
    return WireLayout(magic == lib.IEZ_MAGIC_COMP, tuple(components))
