"""JSON encoding of messages, pydantic models, dataclasses, sets, exceptions and other Python objects."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from agent.shared.json_text import parse_json

OPTIONS = orjson.OPT_NON_STR_KEYS


def to_plain(value: Any) -> Any:
    """Convert a value that orjson can't encode, falling back to `str`."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    for types, convert in _PLAIN:
        if isinstance(value, types):
            return convert(value)
    return _convert_by_method(value)


_PLAIN: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    ((set, frozenset, tuple), list),
    (Mapping, dict),
    (BaseException, lambda value: {"error": type(value).__name__, "message": str(value)}),
    ((bytes, bytearray), lambda value: value.decode(errors="replace")),
)


def _convert_by_method(value: Any) -> Any:
    for name in ("to_dict", "dict"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method()
    return str(value)


def dumps(value: Any) -> bytes:
    """Encode a value as JSON. Lone surrogates are replaced and huge integers supported, so it never fails."""
    try:
        return orjson.dumps(value, to_plain, OPTIONS)
    except TypeError:
        text = json.dumps(_to_stdlib(value), ensure_ascii=False)
        return text.encode("utf-8", "replace")


def _to_stdlib(value: Any) -> Any:
    """Convert a value for the standard library's encoder, for rare data that orjson rejects."""
    if isinstance(value, Mapping):
        return {str(key): _to_stdlib(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [_to_stdlib(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        is_number = not isinstance(value, float) or math.isfinite(value)
        return value if is_number else None
    try:
        return orjson.loads(orjson.dumps(value, to_plain, OPTIONS))
    except TypeError:
        return _to_stdlib(to_plain(value))


def loads(data: bytes | str) -> Any:
    """Decode JSON, with all digits of large integers. Raises `orjson.JSONDecodeError`."""
    return parse_json(data)


class MessageEncoder:
    """Encodes `[message, metadata]`, and caches the metadata shared by all tokens of a call."""

    def __init__(self) -> None:
        self._metadata: Any = None
        self._encoded = orjson.Fragment(b"{}")

    def encode_pair(self, message: BaseMessage, metadata: Any) -> bytes:
        if metadata is not self._metadata:
            self._metadata = metadata
            self._encoded = orjson.Fragment(dumps(metadata))
        try:
            return orjson.dumps([message.model_dump(), self._encoded], to_plain, OPTIONS)
        except TypeError:
            return dumps([message, metadata])
