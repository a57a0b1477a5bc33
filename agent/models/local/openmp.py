"""Provide the OpenMP runtime that the engine needs on systems without one, such as a bare Debian.

The wheel `cmeel-libomp` (LLVM's, Apache-2.0) brings a `libgomp.so.1` that replaces GNU's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

LIBRARY = "libgomp.so.1"
WHEEL = "cmeel-libomp"
SEARCH_PATH = "LD_LIBRARY_PATH"


def with_openmp(
    environment: Mapping[str, str], *, library: str = LIBRARY, wheel: str = WHEEL
) -> dict[str, str]:
    """Return the engine's environment with an OpenMP runtime on the library path, if one is found."""
    found = dict(environment)
    if not _is_on_system(library) and (folder := _find_in_wheel(library, wheel)) is not None:
        found[SEARCH_PATH] = ":".join(filter(None, [str(folder), found.get(SEARCH_PATH, "")]))
    return found


def _is_on_system(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _find_in_wheel(library: str, wheel: str) -> Path | None:
    try:
        files = metadata.files(wheel) or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == library:
            return Path(str(file.locate())).parent
    return None
