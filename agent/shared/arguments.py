"""Types of command-line arguments."""

from __future__ import annotations

import argparse

MAX_PORT = 65_535


def port_number(text: str) -> int:
    """Parse a TCP port; 0 means any free port. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to {MAX_PORT}")
    return int(text)


def positive_number(text: str) -> int:
    """Parse a positive integer. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or not 1 <= len(text) <= 9 or int(text) < 1:
        raise argparse.ArgumentTypeError("expected a positive integer")
    return int(text)
