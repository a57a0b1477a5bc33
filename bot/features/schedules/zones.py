"""Time zones in phrases: names of the time zone database, cities, and abbreviations, which are refused."""

from __future__ import annotations

import re

from bot.features.schedules import readings as read
from bot.features.schedules.grammar import Form, Lexeme

# The areas of the time zone database; other words with a slash belong to the text.
_AREAS = (
    "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Brazil|Canada|Chile|Etc|Europe|Indian|Mexico"
    "|Pacific|US"
)
_SMALL = frozenset({"of", "es", "au"})
_CITIES = {
    "北京|上海|beijing|shanghai": "Asia/Shanghai",
    "香港|hong kong": "Asia/Hong_Kong",
    "台北": "Asia/Taipei",
    "东京|tokyo": "Asia/Tokyo",
    "首尔|seoul": "Asia/Seoul",
    "新加坡|singapore": "Asia/Singapore",
    "伦敦|london": "Europe/London",
    "巴黎|paris": "Europe/Paris",
    "柏林|berlin": "Europe/Berlin",
    "悉尼|sydney": "Australia/Sydney",
    "纽约|new york": "America/New_York",
    "洛杉矶|los angeles": "America/Los_Angeles",
}
_ZONES = {name: zone for names, zone in _CITIES.items() for name in names.split("|")}
_CITY = "|".join(_ZONES)
# CST is a time in America and one in China, and an offset has no clock changes.
_SHORT = "[ECMP][SD]?T|CES?T|BST|IST|JST|KST|AES?T|MSK"
_REGIONS = r"(?:pacific|mountain|central|eastern)(?:\s++(?:standard|daylight))?(?:\s++time)?"


def canonical_zone(text: str) -> str:
    """Return a zone name in the spelling of the time zone database."""
    name = text.strip("()")
    if name.lower() in {"utc", "gmt", "z"}:
        return "UTC"
    if name != name.lower():
        return name
    return re.sub(r"[a-z]+", lambda word: word[0] if word[0] in _SMALL else word[0].capitalize(), name)


def _city_zone(text: str) -> str:
    return _ZONES[text.strip("(（").lower()]


ZONE_ENTRIES = (
    Lexeme("OFFSET", r"\(?(?:UTC|GMT)\s?[+-]\d{1,2}(?::?\d{2})?\)?", str),
    Lexeme(
        "ZONE",
        rf"\(?(?:(?:{_AREAS})/[a-z_+-]+\d{{0,2}}(?:/[a-z_-]+)?|utc|gmt|(?<=\d)z)\)?(?![\w+/-]|:\S)",
        canonical_zone,
    ),
    Lexeme("CITY", rf"[(（]?(?:{_CITY})(?![a-z'’])", _city_zone),
    Lexeme("CITYTIME", r"(?:时间|time(?![\w'’]))\s*+[)）]?"),
    Lexeme("OFFSET", rf"(?-i:\(?(?:{_SHORT})\)?)(?![\w'’])", str),
    # In lower case some are words of other languages, and "central" can be about a bank.
    Lexeme("ABBREVIATION", rf"(?:{_SHORT}|{_REGIONS})(?![\w'’])", str),
)
ZONE_ROWS = (
    Form("zone", "ZONE|CITY CITYTIME", lambda words: words.first("ZONE", "CITY")),
    Form("zone", "OFFSET", read.refuse("zone_unclear")),
)
