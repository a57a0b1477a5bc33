"""Distinguish the agent's own questions from approval requests, which only the service writes."""

from __future__ import annotations

import re
import unicodedata

_SYMBOLS = re.compile("[🔐🔒🔓⚠\ufe0f]")
_WORDS = frozenset(
    {
        *("approve", "approved", "approve once", "approve here", "always approve", "approve always", "allow"),
        *("allow once", "always allow", "deny", "reject", "rejected"),
        *("批准", "批准本次", "本会话均批准", "在此批准", "始终批准", "拒绝", "允许", "同意"),
    }
)
_IMITATIONS = ("approval needed", "approval required", "/approve", "/reject", "待审批", "需要审批")
_INVISIBLE = frozenset({"Cf", "Mn", "Cc"})
_AROUND = re.compile(r"^[\W_]+|[\W_]+$")


def strip_request_symbols(text: str) -> str:
    """Return the text without the symbols reserved for the service's own requests."""
    return _SYMBOLS.sub("", text).strip() if _SYMBOLS.search(text) else text


def decides_approval(choice: str) -> bool:
    """Return whether a choice reads like an approval decision."""
    return _AROUND.sub("", _plain(choice)) in _WORDS


def imitates_request(text: str) -> bool:
    """Return whether a text contains the wording or the symbols of an approval request."""
    plain = _plain(text)
    return bool(_SYMBOLS.search(text)) or any(one in plain for one in _IMITATIONS)


def _plain(text: str) -> str:
    """Return the text as people read it: NFKC-normalized, single-spaced, without invisible characters."""
    normal = unicodedata.normalize("NFKC", text)
    seen = "".join(char for char in normal if char in "\n\t" or unicodedata.category(char) not in _INVISIBLE)
    return " ".join(re.sub(r"[*_`~]", "", seen).casefold().split())
