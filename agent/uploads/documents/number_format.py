"""Numbers, durations and times of cells as a spreadsheet shows them (ECMA-376 part 1, section 18.8.31).

Dates stay in ISO format, which is unambiguous.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]'
    r"|(?P<digits>[0#?]+(?:[.,]+[0#?]*)*|\.[0#?]+)(?P<exponent>E[+-]0+)?|(?P<percent>%)|(?P<other>.)",
    re.DOTALL,
)
_GENERAL = frozenset({"", "general", "@"})
_CONDITION = re.compile(r"\[[<>=]")
_UNQUOTED = re.compile(r'"[^"]*"|\\.|_.|\*.|\[\$[^\]]*\]|\[[A-Za-z]{3,}\d*\]')
_LENGTH = 255
"""Characters of a format that Excel allows."""


def show_value(value: object, code: str | None) -> object:
    """Return a cell's value as the text that its format shows, or the value itself for any other format."""
    code = code or ""
    match value:
        case bool():
            return value
        case timedelta():
            return _show_duration(value, code)
        case datetime() | time():
            return _show_time(value, code)
        case int() | float() if code.lower() not in _GENERAL and len(code) <= _LENGTH:
            return _show_number(value, code) or value
    return value


def _show_duration(value: timedelta, code: str) -> str:
    seconds = round(abs(value.total_seconds()))
    sign, code = "-" if value < timedelta(0) else "", code.lower()
    minutes, second = divmod(seconds, 60)
    if "[m" in code and "h" not in code:
        return f"{sign}{minutes}:{second:02}"
    if "[s" in code and "h" not in code:
        return f"{sign}{seconds}"
    ending = "" if code and "s" not in code else f":{second:02}"
    return f"{sign}{minutes // 60}:{minutes % 60:02}{ending}"


def _show_time(value: datetime | time, code: str) -> object:
    """Return a time of day as text; a date stays."""
    plain = _UNQUOTED.sub("", code.lower())
    if isinstance(value, datetime) and ("d" in plain or "y" in plain or "h" not in plain):
        return value
    moment = value.time() if isinstance(value, datetime) else value
    seconds = "" if "h" in plain and "s" not in plain else f":{moment.second:02}"
    if "am/pm" in plain:
        return f"{moment.hour % 12 or 12}:{moment.minute:02}{seconds} {'PM' if moment.hour >= 12 else 'AM'}"
    return f"{moment.hour:02}:{moment.minute:02}{seconds}"


def _show_number(value: float, code: str) -> str:
    """Return a number in its format, "" for a format of another kind."""
    sections = _split(code)
    if any(_CONDITION.search(section) for section in sections) or not abs(value) < 1e15:
        return ""
    position = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    number = Decimal(repr(value))
    before, after, digits, exponent, percents = "", "", [], "", 0
    for token in _TOKEN.finditer(sections[position]):
        if token["digits"]:
            digits.append(token["digits"])
            exponent = token["exponent"] or exponent
            continue
        percents += bool(token["percent"])
        text = (
            token["quoted"]
            or token["escaped"]
            or token["currency"]
            or token["percent"]
            or token["other"]
            or ""
        )
        before, after = (before, after + text) if digits else (before + text, after)
    if not digits and position and not re.search(r"[A-Za-z/]", _UNQUOTED.sub("", sections[position])):
        return before.strip()
    if len(digits) != 1 or re.search(
        r"[A-Za-z/]", re.sub(r'"[^"]*"|\\.|\[[^\]]*\]|E[+-]0', "", sections[position])
    ):
        return _fill(number, digits, sections[position])
    if exponent:
        return f"{value:.{_count_decimals(digits[0])}E}"
    shown = _format(abs(number) * 100**percents, digits[0])
    return f"{'-' if value < 0 and position == 0 else ''}{before}{shown}{after}".strip()


def _format(number: Decimal, digits: str) -> str:
    whole, _, decimals = digits.partition(".")
    thousands = len(digits) - len(digits.rstrip(","))
    number /= 1_000**thousands
    places = _count_decimals(digits)
    rounded = number.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    text = f"{rounded:,f}" if "," in whole.rstrip(",") else f"{rounded:f}"
    integer, _, fraction = text.partition(".")
    least = sum(one == "0" for one in decimals)
    while len(fraction) > least and fraction.endswith("0"):
        fraction = fraction[:-1]
    integer = integer.zfill(sum(one == "0" for one in whole))
    return f"{integer}.{fraction}" if fraction else integer


def _count_decimals(digits: str) -> int:
    return sum(one in "0#?" for one in digits.partition(".")[2])


def _fill(number: Decimal, digits: list[str], section: str) -> str:
    """Distribute the digits over several groups, such as 000-00-0000; "" for other formats."""
    groups = "".join(digits)
    if (
        len(digits) < 2
        or set(groups) - {"0", "#"}
        or number != int(number)
        or number < 0
        or re.search(r"[A-Za-z/.]", section)
    ):
        return ""
    rest = str(int(number)).zfill(groups.count("0"))
    parts = []
    for group in reversed(digits[1:]):
        parts.append(rest[-len(group) :])
        rest = rest[: -len(group)]
    parts.append(rest)
    pieces = iter(reversed(parts))
    return "".join(
        next(pieces) if token["digits"] else token[0].strip('"\\') for token in _TOKEN.finditer(section)
    )


def _split(code: str) -> list[str]:
    sections = [""]
    for token in re.finditer(r'"[^"]*"|\\.|\[[^\]]*\]|.', code, re.DOTALL):
        if token[0] == ";":
            sections.append("")
        else:
            sections[-1] += token[0]
    return sections
