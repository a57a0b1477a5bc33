"""Superscripts and subscripts as text: 10⁶, CO₂, x^(a+b)."""

from __future__ import annotations

_PLAIN_SUPER = "0123456789+-−=()in"
_RAISED = str.maketrans(_PLAIN_SUPER, "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁱⁿ")
_PLAIN_SUB = "0123456789+-−=()"
_LOWERED = str.maketrans(_PLAIN_SUB, "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_UNMARKED = frozenset(
    {"st", "nd", "rd", "th", "er", "re", "e", "ème", "o", "a", "º", "ª", "™", "®", "tm", "sm", "*", "†"}
)
"""Raised words and signs that read the same on the line."""


def raise_text(text: str) -> str:
    """Return a superscript, in Unicode if it has all characters, else after a caret."""
    return _mark(text, "^", _PLAIN_SUPER, _RAISED)


def lower_text(text: str) -> str:
    """Return a subscript, in Unicode if it has all characters, else after an underscore."""
    return _mark(text, "_", _PLAIN_SUB, _LOWERED)


def _mark(text: str, sign: str, plain: str, table: dict[int, int]) -> str:
    core = text.strip()
    if not core or core.lower() in _UNMARKED or core.startswith("["):
        return text
    if all(character in plain for character in core):
        return text.replace(core, core.translate(table))
    return text.replace(core, f"{sign}{core}" if core.isalnum() else f"{sign}({core})")
