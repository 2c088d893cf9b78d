"""The compiled module (_core_build.py): its declarations are the C headers' own."""

from typing import Any

ffi: Any
lib: Any
