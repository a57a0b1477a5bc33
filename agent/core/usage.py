"""Token usage: counted per answer, summed per thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage


class TokenUsage(TypedDict):
    """Numbers of tokens; `total_tokens` is the provider's figure, mostly the sum of the other two."""

    input_tokens: int
    output_tokens: int
    total_tokens: int


def sum_usage(messages: Iterable[BaseMessage]) -> TokenUsage | None:
    """Return the total usage of the answers among `messages`; None if no provider reported any."""
    said = [m.usage_metadata for m in messages if isinstance(m, AIMessage) and m.usage_metadata]
    return _add_up(said) if said else None


def merge_usage(current: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> TokenUsage:
    """Add two usages; the reducer of the channel `usage`."""
    return _add_up([part for part in (current, new) if part])


def usage_between(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> TokenUsage:
    """Return the usage of a run, from the first and last values of its thread."""
    earlier, later = _add_up([before or {}]), _add_up([after or {}])
    return TokenUsage(
        input_tokens=later["input_tokens"] - earlier["input_tokens"],
        output_tokens=later["output_tokens"] - earlier["output_tokens"],
        total_tokens=later["total_tokens"] - earlier["total_tokens"],
    )


def _add_up(parts: Iterable[Mapping[str, Any]]) -> TokenUsage:
    total = TokenUsage(input_tokens=0, output_tokens=0, total_tokens=0)
    for part in parts:
        given = int(part.get("input_tokens") or 0), int(part.get("output_tokens") or 0)
        total["input_tokens"] += given[0]
        total["output_tokens"] += given[1]
        total["total_tokens"] += int(part.get("total_tokens") or sum(given))
    return total
