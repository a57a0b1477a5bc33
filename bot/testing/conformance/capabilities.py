"""What an adapter can do, read from the optional protocols of `bot.platforms.base` that it implements."""

from __future__ import annotations

from bot.platforms import base
from bot.platforms.base import Adapter, RepeatsSafely


def optional_protocols() -> tuple[type, ...]:
    """Every optional protocol, in the order of the module."""
    return tuple(
        found
        for found in vars(base).values()
        if getattr(found, "_is_runtime_protocol", False)
        and getattr(found, "__module__", "") == base.__name__
        and found is not Adapter
    )


def implements(adapter: object, protocol: type) -> bool:
    """Whether this adapter keeps that protocol's promise."""
    if not isinstance(adapter, protocol):
        return False
    return not (protocol is RepeatsSafely and isinstance(adapter, RepeatsSafely)) or adapter.repeats_safely
