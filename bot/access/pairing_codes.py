"""Codes by which an admin lets somebody in."""

from __future__ import annotations

import secrets

# Without what is mistaken for something else when it is read out or copied by hand.
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LENGTH = 8
GOOD_FOR = 3600.0
"""Seconds."""


def new_code() -> str:
    """A code that nobody guesses: 40 bits, in two halves."""
    signs = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
    return f"{signs[:4]}-{signs[4:]}"


def as_code(text: str) -> str:
    """A code as somebody wrote it, the way that it was told."""
    signs = "".join(sign for sign in text.upper() if sign.isalnum())
    return f"{signs[:4]}-{signs[4:]}"


def is_code(code: str) -> bool:
    """Whether this has the form of a code."""
    return len(code) == LENGTH + 1
