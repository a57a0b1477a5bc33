"""Secrets by which people sign in at the page: told once, kept as hashes."""

from __future__ import annotations

import hashlib
import secrets

CODE_LASTS = 600.0
SESSION_LASTS = 7 * 24 * 3600
"""Seconds."""
BYTES = 20


def new_secret() -> str:
    """A code or the key of a session: 160 bits, as letters and digits that no renderer changes."""
    return secrets.token_hex(BYTES)


def hash_of(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(b"roebot page\0" + secret.encode()).hexdigest()
