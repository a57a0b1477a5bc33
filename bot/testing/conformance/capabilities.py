"""Read the capabilities of an adapter from the optional protocols of `bot.platforms.base`."""

from __future__ import annotations

from bot.platforms import base
from bot.platforms.base import Adapter, RepeatsSafely


def optional_protocols() -> tuple[type, ...]:
    """Return every optional protocol, in the order of the module."""
    return tuple(
        found
        for found in vars(base).values()
        if getattr(found, "_is_runtime_protocol", False)
        and getattr(found, "__module__", "") == base.__name__
        and found is not Adapter
    )


def implements(adapter: object, protocol: type) -> bool:
    """Return whether an adapter implements a protocol and, for RepeatsSafely, says so."""
    if not isinstance(adapter, protocol):
        return False
    return not (protocol is RepeatsSafely and isinstance(adapter, RepeatsSafely)) or adapter.repeats_safely
