"""Types of command-line arguments."""

from __future__ import annotations

import argparse

MAX_PORT = 65_535


def port_number(text: str) -> int:
    """Parse a TCP port; 0 means any free one. Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdigit() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to {MAX_PORT}")
    return int(text)
