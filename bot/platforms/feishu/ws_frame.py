"""Frames of the long connection, as the SDK's message type (`pbbp2.Frame`)."""

from __future__ import annotations

from bot.platforms.feishu.sdk import DecodeError, Frame, FrameType, MessageType, ws_const


class UnreadableFrame(ValueError):
    """Bytes that are not a frame; the message never contains the content."""


def decode_frame(data: bytes) -> Frame:
    """Decode a frame. Raises UnreadableFrame."""
    try:
        frame = Frame.FromString(data)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        # Groups within groups are what the SDK's decoder recurses into.
        raise UnreadableFrame(f"not readable ({type(error).__name__})") from None
    if not frame.IsInitialized():
        raise UnreadableFrame("a required field is missing")
    return frame


def read_headers(frame: Frame) -> dict[str, str]:
    """Return the headers of a frame."""
    return {header.key: header.value for header in frame.headers}


def build_ping(service: int) -> bytes:
    """Encode a ping; `service` is from the connection's address."""
    frame = Frame(SeqID=0, LogID=0, service=service, method=FrameType.CONTROL.value)
    frame.headers.add(key=ws_const.HEADER_TYPE, value=MessageType.PING.value)
    return bytes(frame.SerializeToString())


def build_acknowledgement(frame: Frame, answer: bytes) -> bytes:
    """Encode the response to a frame: the frame itself with the response as its payload."""
    frame.payload = answer
    return bytes(frame.SerializeToString())
