"""Layouts in words and as JSON, for every command that prints them."""

from iez_common.layout import ALL_STRIPES, EOF_BYTES, Component, Layout
from iez_common.units import format_size


def describe(layout: Layout) -> str:
    """For example `3 × 4M on OSTs 3 1 2`."""
    if len(layout.components) == 1:
        return _component(layout.components[0])
    return "; ".join(
        f"to {format_extent(component.extent_end_bytes)}: {_component(component)}"
        for component in layout.components
    )


def _component(component: Component) -> str:
    if component.mdt:
        return "on the MDT"
    count = len(component.osts) or component.stripe_count
    text = f"{format_count(count)} × {format_default_size(component.stripe_size_bytes)}"
    if component.osts:
        many = "s" if len(component.osts) > 1 else ""
        text += f" on OST{many} {' '.join(map(str, component.osts))}"
    if component.pool:
        text += f" in pool {component.pool}"
    if component.overstripe:
        text += ", overstriped"
    return text


def format_count(count: int) -> str:
    if count == ALL_STRIPES:
        return "all"
    return str(count) if count else "default"


def format_default_size(size_bytes: int) -> str:
    return format_size(size_bytes) if size_bytes else "default"


def format_extent(end_bytes: int) -> str:
    return "eof" if end_bytes == EOF_BYTES else format_size(end_bytes)


def layout_json(layout: Layout) -> dict[str, object]:
    """In the form that a JSON source has."""
    if len(layout.components) == 1:
        return component_json(layout.components[0])
    return {
        "components": [
            component_json(component)
            | {
                "end": "eof"
                if component.extent_end_bytes == EOF_BYTES
                else component.extent_end_bytes
            }
            for component in layout.components
        ]
    }


def component_json(component: Component) -> dict[str, object]:
    if component.mdt:
        return {"mdt": True}
    count = component.stripe_count
    return {
        "stripe_count": -1 if count == ALL_STRIPES else count,
        "stripe_size": component.stripe_size_bytes,
        "osts": list(component.osts),
        "pool": component.pool,
        "overstripe": component.overstripe,
    }
