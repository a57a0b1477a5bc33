"""Detection of a recording's container by its first bytes.

File names don't help: for Opus in Ogg, Telegram uses `.oga`, which Groq rejects, and Feishu uses `.opus`,
which OpenAI rejects, although both accept the same bytes as `.ogg`.
"""

from __future__ import annotations

from enum import StrEnum


class AudioContainer(StrEnum):
    """A container of audio; its value is the usual extension."""

    OGG = "ogg"
    FLAC = "flac"
    WAV = "wav"
    MP3 = "mp3"
    M4A = "m4a"
    WEBM = "webm"


_MARKS: tuple[tuple[bytes, AudioContainer], ...] = (
    (b"OggS", AudioContainer.OGG),
    (b"fLaC", AudioContainer.FLAC),
    (b"ID3", AudioContainer.MP3),
    (b"\x1a\x45\xdf\xa3", AudioContainer.WEBM),
)


def find_container(content: bytes) -> AudioContainer | None:
    """Return a recording's container, or None if transcribers don't accept it, such as AMR."""
    for mark, container in _MARKS:
        if content.startswith(mark):
            return container
    if content[:4] == b"RIFF" and content[8:12] == b"WAVE":
        return AudioContainer.WAV
    if content[4:8] == b"ftyp":
        return AudioContainer.M4A
    return AudioContainer.MP3 if _is_mpeg_frame(content) else None


def _is_mpeg_frame(content: bytes) -> bool:
    """Return whether an MPEG audio frame starts here: eleven set bits, then a version and a layer.

    AAC without a container has the same sync word, but layer 0.
    """
    if len(content) < 4 or content[0] != 0xFF or content[1] & 0xE0 != 0xE0:
        return False
    version, layer, bitrate = content[1] >> 3 & 3, content[1] >> 1 & 3, content[2] >> 4
    return version != 1 and layer != 0 and bitrate != 15
