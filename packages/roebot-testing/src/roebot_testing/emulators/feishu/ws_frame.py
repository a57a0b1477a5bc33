"""The binary frame of the long connection, as protocol buffers write it.

The message is `pbbp2.Frame` of lark-oapi 1.7.5 (`ws/pb/pbbp2_pb2.py`): SeqID 1, LogID 2, service 3, method 4,
headers 5 (key 1, value 2), payload_encoding 6, payload_type 7, payload 8, LogIDNew 9. It is written down here
so that the emulator and the adapter, which uses the SDK's, check each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CONTROL = 0
DATA = 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_MASK64 = 2**64 - 1


class BadFrame(ValueError):
    """Bytes that are not a frame; the message names the place, never the content."""


@dataclass(slots=True)
class WsFrame:
    """One frame. `method` is CONTROL (ping, pong) or DATA (an event, or its acknowledgement)."""

    method: int
    headers: dict[str, str] = field(default_factory=dict)
    payload: bytes = b""
    service: int = 0
    seq_id: int = 0
    log_id: int = 0
    payload_encoding: str = ""
    payload_type: str = ""
    log_id_new: str = ""

    def encode(self) -> bytes:
        """Encode the frame; the numbers are always written, since proto2 requires them."""
        out = bytearray()
        for number, value in ((1, self.seq_id), (2, self.log_id), (3, self.service), (4, self.method)):
            out += _key(number, _VARINT) + _varint(value)
        for key, text in self.headers.items():
            out += _bytes(5, _bytes(1, key.encode()) + _bytes(2, text.encode()))
        for field_number, text in ((6, self.payload_encoding), (7, self.payload_type)):
            if text:
                out += _bytes(field_number, text.encode())
        if self.payload:
            out += _bytes(8, self.payload)
        if self.log_id_new:
            out += _bytes(9, self.log_id_new.encode())
        return bytes(out)


def decode(data: bytes) -> WsFrame:
    """Decode a frame. Raises BadFrame."""
    frame = WsFrame(CONTROL)
    seen = set()
    for number, value in _fields(data):
        seen.add(number)
        if number == 5:
            key, text = _header(_expect_bytes(value))
            frame.headers[key] = text
        elif number == 8:
            frame.payload = _expect_bytes(value)
        elif number in _NUMBERS:
            setattr(frame, _NUMBERS[number], _expect_int(value))
        elif number in _TEXTS:
            setattr(frame, _TEXTS[number], _text(_expect_bytes(value)))
    if not seen.issuperset(_NUMBERS):
        raise BadFrame("a required field is missing")
    frame.service, frame.method = _int32(frame.service), _int32(frame.method)
    return frame


_NUMBERS = {1: "seq_id", 2: "log_id", 3: "service", 4: "method"}
_TEXTS = {6: "payload_encoding", 7: "payload_type", 9: "log_id_new"}


def _header(data: bytes) -> tuple[str, str]:
    found = {number: _text(_expect_bytes(value)) for number, value in _fields(data) if number in (1, 2)}
    if len(found) != 2:
        raise BadFrame("a header lacks its key or value")
    return found[1], found[2]


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        number, kind = key >> 3, key & 7
        value: int | bytes
        if number == 0:
            raise BadFrame("a field has no number")
        if kind == _VARINT:
            value, at = _read_varint(data, at)
        else:
            length, at = _length(data, at, kind)
            if at + length > len(data):
                raise BadFrame("a field is cut off")
            value, at = data[at : at + length], at + length
        found.append((number, value))
    return found


def _length(data: bytes, at: int, kind: int) -> tuple[int, int]:
    if kind == _BYTES:
        return _read_varint(data, at)
    if kind in (_FIXED64, _FIXED32):
        return (8 if kind == _FIXED64 else 4), at
    raise BadFrame("a field is of an unknown kind")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(_LONGEST_VARINT):
        if at + index >= len(data):
            raise BadFrame("a number is cut off")
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & _MASK64, at + index + 1
    raise BadFrame("a number is too long")


def _varint(value: int) -> bytes:
    value &= _MASK64
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(value)) + value


def _int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value


def _expect_int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise BadFrame("a number is written as bytes")
    return value


def _expect_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise BadFrame("bytes are written as a number")
    return value


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise BadFrame("a text is not UTF-8") from None
