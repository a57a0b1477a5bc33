"""A long conversation with tool calls, and what it costs with and without summaries and caches.

Each message comes in its envelope; every third one is about an app's alert and a colleague's reply to it.

The provider is Anthropic's as strict as the real one, with the published prices of Claude Sonnet 5.5 (per
million tokens: https://platform.claude.com/docs/en/models/sonnet-5-5/overview). Messages follow each other
within the five minutes for which it caches.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.shared.envelope import MessageEnvelope, QuotedText, render_envelope
from tests.harness.cached_conversation import converse
from tests.harness.strict_providers import Reply
from tests.harness.strict_providers.anthropic import StrictAnthropic
from tests.harness.strict_providers.caching import CacheUse, MarkedCache
from tests.harness.strict_providers.server import Body

PRICE = {"input": 2.0, "output": 10.0, "cached_input": 0.2, "cache_write": 2.5}
MILLION = 1_000_000
QUESTION = "Please look up what the handbook says about case {number} and what follows. "
ANSWER = "The handbook names the costs and the people, so case {number} needs a decision of the board. "
SUMMARY = "- They ask about one case after the other; the handbook says what was decided. " * 8
ABOUT_ALERT = 3
"""One of so many messages is about an alert."""
ALERT = """[Checkout latency is high](https://grafana.example.com/d/checkout/{number})
p99 is 2.1 s for ten minutes
Region: eu-north-1
Service: checkout
[Runbook](https://wiki.example.com/runbooks/checkout)"""


def ask(number: int) -> str:
    """Return message `number` as the agent receives it."""
    quoted: tuple[QuotedText, ...] = ()
    if number % ABOUT_ALERT == 0:
        quoted = (
            QuotedText("reply", ALERT.format(number=number), "slack:B7", "Grafana", time="2026-11-23 09:14"),
            QuotedText("reply", "same as on Monday", "slack:U2", "Ben Okafor", time="2026-11-23 09:16"),
        )
    text = QUESTION.format(number=number) * 3
    return render_envelope(
        MessageEnvelope("slack:U1", text, "Ada Byron", "member", quoted, time="2026-11-23 09:20")
    )


@dataclass(frozen=True, slots=True)
class Way:
    """A way to hold it; `window` is the size (tokens) at which it is summarized, 0 for never."""

    name: str
    window: int = 0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class TurnCost:
    """What one turn used: its requests' input, and the cost by the prices."""

    uses: tuple[CacheUse, ...]
    cost: float


@dataclass(frozen=True, slots=True)
class ConversationCost:
    """What a conversation used; `cost` is the thread's own count, by the configured prices."""

    way: Way
    turns: tuple[TurnCost, ...]
    output: int
    cost: float

    @property
    def input(self) -> int:
        """The input tokens of all requests."""
        return sum(use.total for turn in self.turns for use in turn.uses)

    @property
    def read(self) -> int:
        """Those that were read from the cache."""
        return sum(use.read for turn in self.turns for use in turn.uses)

    @property
    def largest(self) -> int:
        """The tokens of the largest request."""
        return max(use.total for turn in self.turns for use in turn.uses)

    def mean(self, first: int, last: int) -> float:
        """The mean cost of these turns."""
        costs = [turn.cost for turn in self.turns[first:last]]
        return sum(costs) / len(costs)


class Handbook(StrictAnthropic):
    """Looks something up for each question, then answers; writes summaries when asked without tools."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_with(self._find_answer)

    def _find_answer(self, body: Body) -> Reply:
        number = len(self.requests)
        if not body.get("tools"):
            return Reply(SUMMARY)
        last = body["messages"][-1]["content"]
        if isinstance(last, list) and any(block["type"] == "tool_result" for block in last):
            return Reply(ANSWER.format(number=number) * 4)
        return Reply(calls=(("lookup", {"topic": f"case {number}"}),))


def price_of(use: CacheUse) -> float:
    """The cost of a request's input."""
    rest = use.total - use.read - use.written
    spent = rest * PRICE["input"] + use.read * PRICE["cached_input"] + use.written * PRICE["cache_write"]
    return spent / MILLION


async def hold(way: Way, home: Path, turns: int) -> ConversationCost:
    """Hold the conversation."""
    provider = Handbook()
    cache = provider.cache = MarkedCache()
    config: dict[str, Any] = {"prompt_caching": {"enabled": way.cached}}
    if way.window:
        trigger = [{"type": "tokens", "value": way.window}]
        keep = {"type": "tokens", "value": way.window // 4}
        config["summarization"] = {"enabled": True, "trigger": trigger, "keep": keep}
    costs: list[TurnCost] = []
    values: dict[str, Any] = {}
    spent = 0.0
    async with converse(provider, home, price=PRICE, **config) as at:
        for number in range(turns):
            before = len(cache.uses)
            values = await at.say(ask(number))
            total = values["usage"]["cost"]
            costs.append(TurnCost(tuple(cache.uses[before:]), total - spent))
            spent = total
    if provider.rejections:
        raise RuntimeError(provider.rejections[0])
    return ConversationCost(way, tuple(costs), values["usage"]["output_tokens"], spent)
