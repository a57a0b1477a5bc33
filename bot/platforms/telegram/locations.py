"""Places: locations, live locations and venues."""

from __future__ import annotations

from bot import content
from bot.domain import Quotation
from bot.platforms.payload import Json, Malformed, get_int, get_object, get_string, require_object

_FOR_EVER = 0x7FFFFFFF
"""`live_period` of a live location without an end (core.telegram.org/bots/api#editmessagelivelocation)."""


def read_place(parent: Json) -> Quotation:
    """Return the `location` or `venue` of an object. Raises Malformed."""
    venue = get_object(parent, "venue")
    place = require_object(venue or parent, "location")
    latitude, longitude = place.get("latitude"), place.get("longitude")
    if not isinstance(latitude, (int, float)) or not isinstance(longitude, (int, float)):
        raise Malformed("latitude or longitude is not a number")
    note = _describe_period(get_int(place, "live_period"))
    return content.location(
        latitude, longitude, get_string(venue, "title"), get_string(venue, "address"), note
    )


def is_live(message: Json) -> bool:
    """Return whether a message contains an active live location; the edit that stops it has no period
    (core.telegram.org/bots/api#stopmessagelivelocation).
    """
    place = message.get("location")
    return isinstance(place, dict) and place.get("live_period") is not None


def _describe_period(seconds: int) -> str:
    if not seconds:
        return ""
    return "live location" if seconds >= _FOR_EVER else f"live location for {max(seconds // 60, 1)} min"
