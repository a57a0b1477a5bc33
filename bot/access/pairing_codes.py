"""Pairing codes, by which an admin approves a person's access."""

from __future__ import annotations

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
    """Normalize a code as a person typed it."""
    signs = "".join(sign for sign in text.upper() if sign.isalnum())
    return f"{signs[:4]}-{signs[4:]}"


def is_code(code: str) -> bool:
    """Return whether a text has the form of a code."""
    return len(code) == LENGTH + 1
