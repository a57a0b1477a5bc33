"""Checkpoints take little room: what is stored is compressed.

A checkpoint is mostly the versions of its channels, which compress to a quarter and less.
"""

from __future__ import annotations

import zlib

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

SMALL, LARGE, HUGE = 256, 64_000, 4_000_000
"""Bytes. Less than SMALL gains nothing; more than LARGE is compressed in haste, more than HUGE not at all,
since the loop waits for it."""


def packing(serde: SerializerProtocol | None = None) -> SerializerProtocol:
    """The serializer (langgraph's default one), with compression; it reads what was stored without it too."""
    # langgraph's wrapper for ciphers is the one that it passes its list of allowed types through.
    return EncryptedSerializer(_Zlib(), serde or JsonPlusSerializer())


class _Zlib:
    """What langgraph takes for a cipher: the name that it returns is stored beside the type."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        if SMALL <= len(plaintext) <= HUGE:
            return "zlib", zlib.compress(plaintext, 6 if len(plaintext) <= LARGE else 1)
        return "plain", plaintext

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return zlib.decompress(ciphertext) if ciphername == "zlib" else ciphertext
