"""Exact evaluation of arithmetic in a question: + - * / ( ) and percentages. Nothing else is evaluated."""

from __future__ import annotations

import ast
import operator
import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

LONGEST = 120
"""Maximum number of characters of an expression."""
DIGITS = 12
"""Least number of digits of a result that does not end; it is marked with an ellipsis."""
_NUMBER = r"\d+(?:\.\d+)?"
_AROUND = re.compile(
    r"^(?:please |can you )?(?:what(?:'s|’s| is| are)|how much (?:is|are)|calculate|compute"
    r"|请?(?:帮我)?(?:计算|算)(?:一下)?|请问)?"
    r"\s*(.*?)\s*(?:等于|是)?(?:多少|几)?\s*[=?？。.!]*$",
    re.IGNORECASE | re.DOTALL,
)
_REWRITES = (
    (re.compile(r"(?<=\d),(?=\d{3}(?!\d))"), ""),
    (re.compile(rf"({_NUMBER})\s*(?:%|percent|per cent)\s*(?:of|×|\*)\s*", re.IGNORECASE), r"\1% * "),
    (re.compile(rf"({_NUMBER})\s*的\s*({_NUMBER})\s*%"), r"\2% * \1"),
    (re.compile(rf"({_NUMBER})\s*的\s*百分之\s*({_NUMBER})"), r"\2% * \1"),
    (re.compile(r"\bplus\b|加上?", re.IGNORECASE), "+"),
    (re.compile(r"\bminus\b|减去?", re.IGNORECASE), "-"),
    (re.compile(r"\btimes\b|\bmultiplied by\b|×|乘以?|(?<=\d)(?<!\b0)\s*x\s*(?=\d)", re.IGNORECASE), "*"),
    (re.compile(r"\bdivided by\b|÷|除以", re.IGNORECASE), "/"),
)
_SIGNS = {"*": "×", "/": "÷"}
_ALLOWED = re.compile(r"[\d\s.+\-*/()%]+")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def evaluate(question: str) -> tuple[str, str] | None:
    """Return the expression in a question and its value, both for people; None if there is none."""
    found = _AROUND.match(question.strip())
    text = found[1] if found else ""
    for pattern, other in _REWRITES:
        text = pattern.sub(other, text)
    text = " ".join(text.split())
    if len(text) > LONGEST or not _ALLOWED.fullmatch(text) or not re.search(r"\d.*[-+*/]", text):
        return None
    try:
        tree = ast.parse(re.sub(rf"({_NUMBER})\s*%", r"(\1/100)", text), mode="eval").body
        value = _compute(tree)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None
    shown = re.sub(r"(?<=[\d%)])\s*([-+*/])\s*", lambda sign: f" {_SIGNS.get(sign[1], sign[1])} ", text)
    return re.sub(_NUMBER, lambda number: f"{Decimal(number[0]):,f}", shown), _format(value)


def _compute(node: ast.expr) -> Fraction:
    """Return the value. Raises ValueError for anything but numbers and the four operations."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return Fraction(Decimal(str(value)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_compute(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            result: Fraction = _OPERATORS[type(op)](_compute(left), _compute(right))
            return result
    raise ValueError(type(node).__name__)


def _format(value: Fraction) -> str:
    whole = len(str(abs(int(value))))
    context = Context(prec=max(DIGITS, whole), rounding=ROUND_HALF_EVEN)
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    text = f"{rounded.normalize(context):,f}"
    return text if Fraction(rounded) == value else f"{text}…"
