"""Secrets of sign-in links and sessions; only their hashes are stored."""

from __future__ import annotations

import hashlib
import secrets

CODE_LASTS = 600.0
SESSION_LASTS = 7 * 24 * 3600
"""Lifetime of a session (s); `CODE_LASTS` is that of a link (s)."""
BYTES = 20


def create_secret() -> str:
    """Create a code or session key: 160 bits, in letters and digits that no renderer changes."""
    return secrets.token_hex(BYTES)


def hash_secret(secret: str) -> str:
    """Return the stored hash of a secret."""
    return hashlib.sha256(b"roebot page\0" + secret.encode()).hexdigest()
