"""Encoding of text files, so that they are read as they were written and keep their encoding when edited.

chardet recognizes short texts in GBK, Big5, Shift-JIS, EUC-KR and the Windows code pages only if it chooses
among these, so the candidates are listed. It parses foreign bytes, so it runs in a child process, like every
parser.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

SAMPLE = 65_536
_NAMES = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16 (big endian)",
    "utf-32-le": "UTF-32",
    "utf-32-be": "UTF-32 (big endian)",
    "gbk": "GBK",
    "gb18030": "GB18030",
    "big5": "Big5",
    "cp950": "Big5 (cp950)",
    "big5hkscs": "Big5-HKSCS",
    "cp932": "Shift-JIS",
    "cp949": "EUC-KR",
    "euc-jp": "EUC-JP",
    "koi8-r": "KOI8-R",
    **{f"cp{number}": f"Windows-{number}" for number in range(1250, 1259)},
}
_CANDIDATES = (
    *("gb18030", "big5", "big5hkscs", "cp932", "cp949", "euc-jp", "koi8-r"),
    *(f"windows-{number}" for number in range(1250, 1259)),
)
# UTF-32 begins like UTF-16.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WESTERN_SHARE = 0.7
"""Share of the best candidate's confidence from which on Windows-1252, the most frequent, is preferred."""
_UNSURE = 0.005
_COMMON_GBK = re.compile(rb"(?:[\x00-\x7f]|[\xb0-\xd7\xa1-\xa3][\xa1-\xfe])*")
_OTHERS = "\u0370-\u06ff"
"""Greek, Cyrillic, Hebrew and Arabic."""
_MIXED = re.compile(f"[A-Za-z][{_OTHERS}]|[{_OTHERS}][A-Za-z]")
_KANA = re.compile("[\u3040-\u30ff]")
_WIDE = re.compile("[\u3040-\u9fff\uac00-\ud7af]")
"""Chinese, Japanese and Korean."""
_WIDE_WITHIN_WORD = re.compile(f"[a-z]{_WIDE.pattern}[a-z]")
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """A codec with the byte order mark of the file; `errors` keeps bytes that are damaged UTF-8."""

    codec: str = "utf-8"
    bom: bytes = b""
    errors: Literal["strict", "surrogateescape"] = "strict"

    @property
    def name(self) -> str:
        """The name that people know."""
        return _NAMES.get(self.codec, self.codec)

    def decode(self, content: bytes) -> str:
        """Return the text without the byte order mark. Raises UnicodeDecodeError."""
        return content.removeprefix(self.bom).decode(self.codec, self.errors)

    def encode(self, text: str) -> bytes:
        """Return the content of the file. Raises UnicodeEncodeError for a character it can't contain."""
        return self.bom + text.encode(self.codec, self.errors)


UTF_8 = TextEncoding()


def find_unicode(content: bytes) -> TextEncoding | None:
    """Return the encoding of Unicode text, by its mark or its bytes; None if it is something else."""
    for bom, codec in _BOMS:
        if content.startswith(bom):
            return _checked(TextEncoding(codec, bom), content)
    if b"\x00" in content:
        return _find_unmarked(content)
    return _checked(UTF_8, content) or _find_damaged(content)


def detect_encoding(content: bytes, *, is_whole: bool = True) -> TextEncoding | None:
    """Return the encoding of any text, None for binary content. Uses chardet for legacy encodings.

    A sample that is not whole may end within a character.
    """
    sample = content if is_whole else _whole_lines(content)
    if (found := find_unicode(sample)) is not None:
        return found
    return None if b"\x00" in sample else _detect_legacy(sample)


def _detect_legacy(content: bytes) -> TextEncoding:
    """Return the most likely legacy encoding, or one that keeps the bytes if none fits."""
    chardet: Any = import_module("chardet")
    # Only lines with such characters tell encodings apart.
    lines = [line for line in content.splitlines(keepends=True) if not line.isascii()]
    sample = b"".join(lines)[:SAMPLE]
    ranking = chardet.detect_all(sample, include_encodings=_CANDIDATES, ignore_threshold=True)
    scores = {str(one["encoding"]).lower(): one["confidence"] for one in ranking if one["encoding"]}
    names = sorted(scores, key=lambda name: -scores[name])
    best = scores[names[0]] if names else 0.0
    if scores.get("windows-1252", 0) >= best * _WESTERN_SHARE or _mixes_scripts(sample, names):
        names.insert(0, "windows-1252")
    if _COMMON_GBK.fullmatch(content) and (best < _UNSURE or _lacks_kana(sample, names)):
        names.insert(0, "gb18030")
    for name in [*names, "cp1252"]:
        codec = name.replace("windows-", "cp")
        # The smaller sets of characters refuse what other programs could not read in the file.
        for exact in {"gb18030": ("gbk", "gb18030"), "big5": ("big5", "cp950", "big5hkscs")}.get(
            codec, (codec,)
        ):
            if found := _checked(TextEncoding(exact), content):
                return found
    return TextEncoding(errors="surrogateescape")


def _mixes_scripts(sample: bytes, names: Sequence[str]) -> bool:
    """Return whether the best candidate has words of Latin and other letters, as in "dйjа" or "Gr廲e"."""
    if not names:
        return False
    text = sample.decode(names[0].replace("windows-", "cp"), "replace")
    if names[0].startswith(("windows-", "koi8")):
        return _MIXED.search(text) is not None
    return 2 * len(_WIDE_WITHIN_WORD.findall(text)) >= max(1, len(_WIDE.findall(text)))


def _lacks_kana(sample: bytes, names: Sequence[str]) -> bool:
    """Return whether the best candidate is EUC-JP, with characters that Chinese has too."""
    return names[:1] == ["euc-jp"] and not _KANA.search(sample.decode("euc-jp", "replace"))


def _checked(encoding: TextEncoding, content: bytes) -> TextEncoding | None:
    """Return the encoding if it reads the content and writes the same bytes."""
    try:
        is_exact = encoding.encode(encoding.decode(content)) == content
    except (UnicodeError, LookupError):
        return None
    return encoding if is_exact else None


def _find_unmarked(content: bytes) -> TextEncoding | None:
    """Find UTF-16 without a mark: half of the bytes of Western text are zero."""
    sample = content[: SAMPLE & ~1]
    for codec, zeros, others in (
        ("utf-16-le", sample[1::2], sample[::2]),
        ("utf-16-be", sample[::2], sample[1::2]),
    ):
        if zeros.count(0) * 10 > len(zeros) * 3 and not others.count(0):
            return _checked(TextEncoding(codec), content)
    return None


def _find_damaged(content: bytes) -> TextEncoding | None:
    """Find UTF-8 with a few invalid bytes, such as a log that was cut within a character."""
    text = content.decode("utf-8", "surrogateescape")
    damaged = sum(0xDC80 <= ord(one) <= 0xDCFF for one in text)
    valid = sum(len(one) > 2 for one in _MULTIBYTE.findall(content))
    return TextEncoding(errors="surrogateescape") if damaged * 10 < valid else None


def _whole_lines(sample: bytes) -> bytes:
    """Drop the incomplete last line; a line of UTF-16 ends with a zero after the line feed."""
    end = sample.rfind(b"\n")
    if end < 0:
        return sample
    return sample[: end + 1 + (end + 1) % 2] if b"\x00" in sample else sample[: end + 1]
