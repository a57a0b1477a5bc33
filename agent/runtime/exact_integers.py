"""Storage of integers that MessagePack can't represent, as text with all their digits."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send
from ormsgpack import MsgpackEncodeError
from pydantic import BaseModel

SMALLEST, LARGEST = -(2**63), 2**64 - 1
"""Range of MessagePack's integers."""
_CONTAINERS: Final = (list, tuple, set, frozenset, deque)


class ExactSerializer(JsonPlusSerializer):
    """Langgraph's serializer, except that it stores integers beyond MessagePack's range as text.

    To save time, only values that could not be serialized are searched for such integers. Tools get the text
    converted back to an integer (`agent.core.argument_coercion`).
    """

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialize a value. Raises MsgpackEncodeError."""
        try:
            return super().dumps_typed(obj)
        except MsgpackEncodeError:
            return super().dumps_typed(write_out_integers(obj))


def write_out_integers(value: Any) -> Any:
    """Return the value with text instead of integers outside MessagePack's range, at any depth."""
    if isinstance(value, int):
        return value if SMALLEST <= value <= LARGEST else str(value)
    if isinstance(value, Mapping):
        return {write_out_integers(key): write_out_integers(item) for key, item in value.items()}
    if isinstance(value, _CONTAINERS):
        items = [write_out_integers(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: write_out_integers(item) for name, item in value})
    if isinstance(value, Send) or (is_dataclass(value) and not isinstance(value, type)):
        clone = copy.copy(value)
        names = ("arg",) if isinstance(value, Send) else [field.name for field in fields(value)]
        for name in names:
            object.__setattr__(clone, name, write_out_integers(getattr(value, name)))
        return clone
    return value
