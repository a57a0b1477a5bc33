"""Decode the bytes of web pages."""

from __future__ import annotations

import codecs
import re

_SNIFFED_BYTES = 2_048
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# Python codecs that no page uses; some of them are slow.
_NO_PAGE_CODECS = frozenset(
    {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
)
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def decode_html(body: bytes, charset: str | None = None) -> str:
    """Decode a page by `charset` (from its HTTP header), or its own `<meta charset>`, or as UTF-8.

    Undecodable bytes become U+FFFD, and NUL characters are removed.
    """
    if charset is None and (found := _META.search(body[:_SNIFFED_BYTES])):
        charset = found[1].decode("ascii")
    return body.decode(_codec_name(charset or "utf-8"), errors="replace").replace("\x00", "")


def guess_charset(body: bytes) -> str | None:
    """Return the encoding of a page without a header; None if the page declares it itself."""
    for bom, name in _BOMS.items():
        if body.startswith(bom):
            return name
    if _META.search(body[:_SNIFFED_BYTES]):
        return None
    try:
        body.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _codec_name(charset: str) -> str:
    try:
        name = codecs.lookup(charset).name.replace("_", "-")
        "".encode(name)
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if name in _NO_PAGE_CODECS else name
