"""How Feishu signs and encrypts callbacks (open.feishu.cn, "Encrypt Key")."""

from __future__ import annotations

import base64
import hashlib

from Crypto.Cipher import AES

_BLOCK = 16


def signature(timestamp: str, nonce: str, encrypt_key: str, body: bytes) -> str:
    """Return `X-Lark-Signature`: the SHA-256 of time stamp, nonce, key and raw body, in hex."""
    return hashlib.sha256(f"{timestamp}{nonce}{encrypt_key}".encode() + body).hexdigest()


def encrypt(content: bytes, encrypt_key: str, vector: bytes) -> str:
    """Return the text of `{"encrypt": …}`: AES-256-CBC behind its vector of 16 random bytes, in base64."""
    pad = _BLOCK - len(content) % _BLOCK
    key = hashlib.sha256(encrypt_key.encode()).digest()
    cipher = AES.new(key, AES.MODE_CBC, vector).encrypt(content + bytes([pad]) * pad)
    return base64.b64encode(vector + cipher).decode()
