"""JSON as the API serves it: messages, pydantic models, dataclasses, sets, exceptions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson
from langchain_core.messages import BaseMessage
from pydantic import BaseModel

OPTIONS = orjson.OPT_NON_STR_KEYS


def plain(value: Any) -> Any:
    """What orjson can't write by itself, as plainer data. A last resort is `str`."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    for types, convert in _PLAIN:
        if isinstance(value, types):
            return convert(value)
    return _by_method(value)


_PLAIN: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    ((set, frozenset, tuple), list),
    (Mapping, dict),
    (BaseException, lambda value: {"error": type(value).__name__, "message": str(value)}),
    ((bytes, bytearray), lambda value: value.decode(errors="replace")),
)


def _by_method(value: Any) -> Any:
    for name in ("to_dict", "dict"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method()
    return str(value)


def dumps(value: Any) -> bytes:
    """JSON bytes. Lone surrogates are replaced and huge integers kept, so that it never fails on data."""
    try:
        return orjson.dumps(value, plain, OPTIONS)
    except TypeError:
        text = json.dumps(_loose(value), ensure_ascii=False)
        return text.encode("utf-8", "replace")


def _loose(value: Any) -> Any:
    """`value` as data for the standard library's encoder, for the rare data that orjson refuses."""
    if isinstance(value, Mapping):
        return {str(key): _loose(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [_loose(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    try:
        return orjson.loads(orjson.dumps(value, plain, OPTIONS))
    except TypeError:
        return _loose(plain(value))


def loads(data: bytes) -> Any:
    """Data from JSON bytes. Raises `orjson.JSONDecodeError`."""
    return orjson.loads(data)


class MessageEncoder:
    """Encodes `[message, metadata]` of one stream; metadata is the same for all tokens of a call."""

    def __init__(self) -> None:
        self._metadata: Any = None
        self._encoded = orjson.Fragment(b"{}")

    def pair(self, message: BaseMessage, metadata: Any) -> bytes:
        """The data of a `messages` event."""
        if metadata is not self._metadata:
            self._metadata = metadata
            self._encoded = orjson.Fragment(dumps(metadata))
        try:
            return orjson.dumps([message.model_dump(), self._encoded], plain, OPTIONS)
        except TypeError:
            return dumps([message, metadata])
