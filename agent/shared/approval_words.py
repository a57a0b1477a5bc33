"""Words with which a person decides on a tool call."""

from __future__ import annotations

APPROVE, REJECT = "approve", "reject"
IS_REJECTED = "rejected"
"""Key in the `additional_kwargs` of a tool's result that is true if a person rejected the call; the envelopes
in the result are theirs.
"""
IS_DENIED = "denied"
"""The same, if a rule denied the call."""
_YES = frozenset(
    {
        *[APPROVE, "approved", "approve here", "always approve", "yes", "ok", "okay"],
        *["批准", "批准本次", "本会话均批准", "在此批准", "始终批准", "同意", "是", "可以"],
    }
)
_NO = frozenset({REJECT, "rejected", "no", "拒绝", "不", "否", ""})


def default_question(tool: str) -> str:
    """Return the default question of an approval request for a tool."""
    return f"May I use {tool}?"


def is_yes(words: str) -> bool:
    """Return whether the text approves: a plain yes and nothing else."""
    return _as_word(words) in _YES


def is_plain_no(words: str) -> bool:
    """Return whether the text only rejects, without a reason."""
    return _as_word(words) in _NO


def _as_word(words: str) -> str:
    return words.strip().strip(" .!。！").casefold()
