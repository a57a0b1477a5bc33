"""Readable link addresses, without markdown-it's encoding."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"(?:%[0-9a-f]{2})+", re.IGNORECASE)
_PERCENT = re.compile(r"%25(?![0-9a-f]{2})", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:mailto:(?://)?|(?:https?:)?//)[^/?#]*", re.IGNORECASE)
_PUNYCODE = re.compile(r"(?<![^/@:.])xn--[\w+-]+(?![\w+-]|[^\0-\x7f])", re.ASCII)
_RESERVED = frozenset(";/?:@&=+$,#%")


def spell_address(href: str) -> str:
    """Return the address in `href` in readable form: "http://wiki/%E9%83%A8" as "http://wiki/部".

    It still leads to the same place: reserved characters, control characters and bytes that are no UTF-8 stay
    encoded. It is at most as long as the address in the source, apart from control characters and hosts in
    brackets.
    """
    if "xn--" in href:
        href = _AUTHORITY.sub(lambda found: _PUNYCODE.sub(_read_label, found[0]), href, count=1)
    return _PERCENT.sub("%", _ESCAPES.sub(_decode, href)) if "%" in href else href


def is_spelled_out(label: str, href: str) -> bool:
    """Return whether a link's label equals its address, ignoring "mailto:"."""
    return spell_address(href) in (spell_address(label), spell_address(f"mailto:{label}"))


def _decode(escapes: re.Match[str]) -> str:
    decoded = bytes.fromhex(escapes[0].replace("%", "")).decode(errors="surrogateescape")
    return "".join(map(_encode_again, decoded))


def _encode_again(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"%{ord(char) - 0xDC00:02X}"
    return f"%{ord(char):02X}" if char in _RESERVED or char < " " or char == "\x7f" else char


def _read_label(label: re.Match[str]) -> str:
    """Decode a host name label, if markdown-it encoded it that way."""
    encoded = label[0].removeprefix("xn--")
    try:
        decoded = encoded.encode().decode("punycode")
        same = not decoded.isascii() and decoded.encode("punycode").decode() == encoded
    except UnicodeError:
        return label[0]
    return decoded if same else label[0]
