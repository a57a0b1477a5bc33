"""Signature and encryption of callbacks over HTTP (open.feishu.cn, "Encrypt Key")."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from Crypto.Cipher import AES

_BLOCK = 16


class BadCipher(ValueError):
    """A text that was not encrypted with this key."""


def signature(timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> str:
    """`X-Lark-Signature`: the SHA-256 of time stamp, nonce, key and raw body, in hex."""
    return hashlib.sha256((timestamp + nonce + encrypt_key).encode() + body).hexdigest()


def is_signed(given: str, timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> bool:
    """Return True for a valid signature; takes the same time for every invalid one."""
    wanted = signature(timestamp, nonce, encrypt_key, body)
    return hmac.compare_digest(given.encode(), wanted.encode())


def decrypt(encrypted: str, encrypt_key: str) -> bytes:
    """The content of `{"encrypt": …}`: AES-256-CBC, the first block is the vector. Raises BadCipher."""
    try:
        data = base64.b64decode(encrypted, validate=True)
    except (binascii.Error, ValueError):
        raise BadCipher("not base64") from None
    if len(data) < 2 * _BLOCK or len(data) % _BLOCK:
        raise BadCipher("not whole blocks")
    key = hashlib.sha256(encrypt_key.encode()).digest()
    plain = AES.new(key, AES.MODE_CBC, data[:_BLOCK]).decrypt(data[_BLOCK:])
    pad = plain[-1]
    if not 1 <= pad <= _BLOCK or plain[-pad:] != bytes([pad]) * pad:
        raise BadCipher("wrong padding")
    return plain[:-pad]


def encrypt(content: bytes, encrypt_key: str, vector: bytes) -> str:
    """The counterpart of `decrypt`; `vector` is 16 random bytes."""
    pad = _BLOCK - len(content) % _BLOCK
    key = hashlib.sha256(encrypt_key.encode()).digest()
    cipher = AES.new(key, AES.MODE_CBC, vector).encrypt(content + bytes([pad]) * pad)
    return base64.b64encode(vector + cipher).decode()
