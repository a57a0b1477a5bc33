"""Single-use secrets: pairing codes, which an admin approves, and sign-in links of the web console."""

from __future__ import annotations

import hashlib
import secrets

# Without characters that are easily confused when read out or copied by hand.
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LENGTH = 8
GOOD_FOR = 3600.0
"""Lifetime of a code (s)."""


def create_code() -> str:
    """Create a random code: 40 bits, in two halves."""
    signs = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return f"{signs[:4]}-{signs[4:]}"


def normalize_code(text: str) -> str:
    """Normalize a code typed by a person."""
    signs = "".join(sign for sign in text.upper() if sign.isalnum())
    return f"{signs[:4]}-{signs[4:]}"


def is_code(code: str) -> bool:
    """Return whether a text has the format of a code."""
    return len(code) == LENGTH + 1


CODE_LASTS = 600.0
SESSION_LASTS = 7 * 24 * 3600
"""Lifetime of a person's session (s); `CODE_LASTS` is that of a link (s)."""
OWNER_SESSION_LASTS = 30 * 24 * 3600
"""Lifetime of a session of the service's owner (s)."""
BYTES = 20


def create_secret() -> str:
    """Create a code or session key: 160 bits, in letters and digits that every renderer leaves unchanged."""
    return secrets.token_hex(BYTES)


def hash_owner_secret(token: str, secret: str) -> str:
    """Return the stored hash of a secret of the service owner; it is worthless with another token."""
    return hashlib.sha256(f"roebot owner\0{token}\0{secret}".encode()).hexdigest()


def hash_secret(secret: str) -> str:
    """Return the stored hash of a secret."""
    return hashlib.sha256(b"roebot page\0" + secret.encode()).hexdigest()
