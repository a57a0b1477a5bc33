"""Read numbers in digits or words, in English and Chinese."""

from __future__ import annotations

_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_ENGLISH = {word: number for number, word in enumerate(_SMALL, start=1)} | {
    "fifteen": 15,
    "twenty": 20,
    "twenty-five": 25,
    "thirty": 30,
    "forty": 40,
    "forty-five": 45,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
}
_CHINESE = {word: number for number, word in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
# Two-character numbers first, so that an alternation does not stop at their first half.
ENGLISH_NUMBER = r"(?:\d{1,25}|" + "|".join(sorted(_ENGLISH, key=len, reverse=True)) + ")"
CHINESE_NUMBER = r"(?:\d{1,25}|[零〇一二两三四五六七八九十百]{1,6})"
_SIMPLIFIED = str.maketrans(
    "０１２３４５６７８９：／．－　點時週後個從開後過鐘鍾禮至間隔種兩號號晝內當這個們",
    "0123456789:/.- 点时周后个从开后过钟钟礼至间隔种两号号昼内当这个们",
)


def normalize(text: str) -> str:
    """Replace fullwidth digits and traditional characters of times; every position stays the same."""
    return text.translate(_SIMPLIFIED)


def parse_number(word: str) -> int:
    """Return the value of a number in digits or words. Raises ValueError."""
    word = word.lower()
    if word.isdecimal():
        return int(word)
    if word in _ENGLISH:
        return _ENGLISH[word]
    return _parse_chinese(word)


def _parse_chinese(word: str) -> int:
    hundreds, has_hundred, rest = word.rpartition("百")
    tens, has_ten, ones = rest.lstrip("零〇").rpartition("十")
    total = 100 * _digit(hundreds) if has_hundred else 0
    total += 10 * (_digit(tens) if tens else 1) if has_ten else 0
    return total + (_digit(ones) if ones else 0 if has_ten or has_hundred or rest else _digit(""))


def _digit(word: str) -> int:
    if word not in _CHINESE:
        raise ValueError(word)
    return _CHINESE[word]
