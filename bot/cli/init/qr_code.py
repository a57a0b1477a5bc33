"""QR codes in the terminal."""

from __future__ import annotations

import io

BORDERS = (4, 2, 1)
"""Width of the light border in modules: four by the standard, less if the code would not fit the terminal."""


def draw_code(text: str, columns: int) -> str:
    """Draw a QR code with half blocks, or "" if it is wider than the terminal or segno is not installed."""
    try:
        import segno
    except ModuleNotFoundError:
        return ""
    code = segno.make(text, error="l", boost_error=False, micro=False)
    for border in BORDERS:
        if code.symbol_size(border=border)[0] <= columns:
            drawing = io.StringIO()
            code.terminal(out=drawing, border=border, compact=True)
            return drawing.getvalue().rstrip("\n")
    return ""
