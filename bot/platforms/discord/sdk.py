"""Import of the SDK, whose voice part depends on a deprecated module of Python."""

from __future__ import annotations

import importlib
import warnings
import zlib

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    import discord
    import discord.gateway
    import discord.http

_ZSTD: str | None = getattr(discord.utils, "_ZSTD_SOURCE", None)
DECOMPRESSION_ERRORS: tuple[type[Exception], ...] = (
    EOFError,
    zlib.error,
    *((importlib.import_module(_ZSTD).ZstdError,) if _ZSTD else ()),
)
"""Errors of the library with which the SDK decompresses the gateway's frames."""

__all__ = ["DECOMPRESSION_ERRORS", "discord"]
