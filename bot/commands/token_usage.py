"""Token usage for display."""

from __future__ import annotations

from typing import Any

from bot.runtime.interface import TokenUsage
from bot.store.usage import TurnUsage, UsageSum
from bot.texts import Texts

SMALL_COST = 0.1


def usage_fields(texts: Texts, of: UsageSum | TurnUsage | TokenUsage) -> dict[str, Any]:
    """Return the token fields of a text; cached tokens and cost are "" if not available."""
    return {
        "total": of.total_tokens,
        "input": of.input_tokens,
        "output": of.output_tokens,
        "cached": texts("usage_cached", cached=of.cached_tokens) if of.cached_tokens else "",
        "cost": texts("usage_cost", cost=format_cost(of.cost), currency=of.currency) if of.cost else "",
    }


def format_cost(cost: float) -> str:
    """Return an amount of money with two decimal places, or with four if it is small."""
    return f"{cost:,.2f}" if cost >= SMALL_COST else f"{cost:.4f}"
