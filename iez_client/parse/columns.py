"""Columns: numpy's view of the C core's structs, made from the structs themselves."""

from typing import TYPE_CHECKING, Any

from iez_common._core import ffi

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.void]


def dtype_of(c_type: str) -> "np.dtype[Any]":
    """The numpy type of a struct, with the offsets that the compiler gave its fields."""
    return _dtype(ffi.typeof(c_type))


def _dtype(c_type: Any) -> "np.dtype[Any]":
    import numpy as np

    if c_type.kind == "struct":
        fields = c_type.fields
        return np.dtype(
            {
                "names": [name for name, _ in fields],
                "formats": [_dtype(field.type) for _, field in fields],
                "offsets": [field.offset for _, field in fields],
                "itemsize": ffi.sizeof(c_type),
            }
        )
    if c_type.kind == "array":
        return np.dtype((_dtype(c_type.item), (c_type.length,)))
    kind = "i" if int(ffi.cast(c_type, -1)) < 0 else "u"
    return np.dtype(f"<{kind}{ffi.sizeof(c_type)}")


def rows_of(c_type: str, pointer: Any, count: int) -> "Rows":
    """The array at `pointer`, without a copy; who calls keeps the memory alive."""
    import numpy as np

    dtype = dtype_of(c_type)
    if not count:
        return np.zeros(0, dtype)
    return np.frombuffer(ffi.buffer(pointer, count * dtype.itemsize), dtype)
