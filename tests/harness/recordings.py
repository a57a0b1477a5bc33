"""Recordings for transcribers."""

from __future__ import annotations

import io
import wave


def silence(seconds: int, rate: int = 8_000) -> bytes:
    """Return a WAV file of this length in which nobody speaks."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(bytes(2 * rate * seconds))
    return file.getvalue()
