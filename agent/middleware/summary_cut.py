"""Decision when to summarize a conversation, and which of its messages to replace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from langchain.agents.middleware.summarization import ContextSize, TriggerClause
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.utils import count_tokens_approximately

from agent.core.model_request import is_from_person
from agent.shared.run_identity import NOTE_SOURCE

Trigger = ContextSize | TriggerClause | list[ContextSize | TriggerClause]
SUMMARY = "summarization"
WRITTEN_AFTER = "written_after"
"""Key of a summary: id of the newest answer at that time, whose reported usage is out of date since then."""
WORTHWHILE = 4
"""A cut has to save a quarter of what triggers it; a smaller one changes the prefix for nothing."""
SMALLEST_CUT = 500
"""Tokens; a request for a summary of less is refused, since the summary would hardly be shorter."""
MAX_SCALE = 4.0
SIGNIFICANT = 4
"""The scale is taken from the growth between two reports if it is at least a quarter of the messages."""


def is_summary(message: BaseMessage) -> bool:
    """Return whether the message is a summary of earlier ones."""
    return message.additional_kwargs.get(NOTE_SOURCE) == SUMMARY


def count_tokens(message: BaseMessage) -> int:
    """Estimate a message's tokens: four ASCII characters or one Chinese character per token."""
    text = message.text
    wide = 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
    return count_tokens_approximately([message]) + wide * 3 // 8


@dataclass(frozen=True, slots=True)
class Measure:
    """Estimated tokens of each message; `scale` corrects them by the provider's latest reports.

    `total` includes what the messages do not contain: system prompt and tools, if it was reported.
    """

    costs: Sequence[int]
    scale: float
    total: int

    @classmethod
    def of(cls, messages: Sequence[AnyMessage]) -> Measure:
        costs = [count_tokens(message) for message in messages]
        before = list(accumulate(costs, initial=0))
        own = known = before[-1]
        reports = _list_reports(messages)
        if reports:
            at, usage = reports[-1]
            known = usage["total_tokens"] + own - before[at + 1]
        scale = _find_scale(before, reports, known / own) if own else 1.0
        return cls(costs, min(max(1.0, scale), MAX_SCALE), max(own, known))

    @property
    def sum_all(self) -> int:
        """Return the tokens of all messages, without system prompt and tools."""
        return int(sum(self.costs) * self.scale)

    def sum(self, places: Iterable[int]) -> int:
        """Return the tokens of the messages at these places."""
        return int(sum(self.costs[at] for at in places) * self.scale)


def _list_reports(messages: Sequence[AnyMessage]) -> list[tuple[int, UsageMetadata]]:
    """Return positions and usages of the answers since the last cut."""
    cuts = {one.additional_kwargs.get(WRITTEN_AFTER) for one in messages if is_summary(one)}
    found: list[tuple[int, UsageMetadata]] = []
    for at, message in enumerate(messages):
        if not isinstance(message, AIMessage):
            continue
        if message.id in cuts:
            found.clear()
        elif message.usage_metadata:
            found.append((at, message.usage_metadata))
    return found


def _find_scale(before: Sequence[int], reports: Sequence[tuple[int, UsageMetadata]], default: float) -> float:
    """Return the ratio of reported to estimated tokens.

    System prompt and tools are in every report, so only its growth from the first to the newest one tells
    about the messages. If these have grown too little, it is `default`.
    """
    if not reports:
        return default
    (first, early), (last, late) = reports[0], reports[-1]
    grown = before[last] - before[first]
    if grown * SIGNIFICANT < before[last] or not grown:
        return default
    return (late["input_tokens"] - early["input_tokens"]) / grown


@dataclass(frozen=True, slots=True)
class CutRules:
    """Conditions for cutting (any of `trigger`) and the amount to keep.

    Shares are of `window`, in tokens. Calls stay with their results. The newest message of a person stays,
    and the first one of its turn.
    """

    trigger: Sequence[Mapping[str, Any]]
    keep: ContextSize
    window: int

    @classmethod
    def of(cls, trigger: Trigger, keep: ContextSize, window: int) -> CutRules:
        """Return the rules for langchain's trigger formats: sizes, clauses, and lists of them."""
        alternatives = trigger if isinstance(trigger, list) else [trigger]
        clauses: list[Mapping[str, Any]] = [
            one if isinstance(one, Mapping) else {one[0]: one[1]} for one in alternatives
        ]
        return cls(clauses, keep, window)

    def select_due(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return the messages to summarize now; none if there is room, or if little would be saved."""
        measure = Measure.of(messages)
        for clause in self.trigger:
            limits = {kind: self._limit(kind, value) for kind, value in clause.items()}
            sizes = {"messages": len(messages), "tokens": measure.total, "fraction": measure.total}
            if not all(sizes[kind] >= limit for kind, limit in limits.items()):
                continue
            for kept in self._attempts(limits):
                places = self._select_places(messages, measure, kept)
                if self._is_worthwhile(messages, measure, places, limits):
                    return [messages[at] for at in places]
        return []

    def select_most(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return the messages to summarize on request: most of the conversation, whatever its size."""
        measure = Measure.of(messages)
        places = self._select_places(
            messages, measure, ("tokens", min(self._kept_tokens(), measure.sum_all // 4))
        )
        new = [at for at in places if not is_summary(messages[at])]
        return [messages[at] for at in places] if measure.sum(new) >= SMALLEST_CUT else []

    def _limit(self, kind: str, value: float) -> int:
        return max(1, int(self.window * value)) if kind == "fraction" else int(value)

    def _kept_tokens(self) -> int:
        kind, value = self.keep
        return self.window // 4 if kind == "messages" else self._limit(kind, value)

    def _attempts(self, limits: Mapping[str, int]) -> list[ContextSize]:
        """Return the amounts to keep: as configured, or else a quarter of a limit if too little would be
        removed.
        """
        tokens = [limit for kind, limit in limits.items() if kind != "messages"]
        if tokens:
            return [self.keep, ("tokens", max(1, min(tokens) // 4))]
        return [self.keep, ("messages", max(1, limits["messages"] // 4))]

    def _select_places(
        self, messages: Sequence[AnyMessage], measure: Measure, keep: ContextSize
    ) -> list[int]:
        """Return the positions of the messages before the kept part."""
        kind, value = keep
        if kind == "messages":
            cut = max(0, len(messages) - int(value))
        else:
            cut = _cut_by_tokens(measure, self._limit(kind, value))
        cut = _move_off_pairs(messages, cut)
        asked = _list_requests(messages)
        return [at for at in range(cut) if at not in asked]

    @staticmethod
    def _is_worthwhile(
        messages: Sequence[AnyMessage], measure: Measure, places: Sequence[int], limits: Mapping[str, int]
    ) -> bool:
        # A summary takes the place of the earlier one.
        saved = [at for at in places if not is_summary(messages[at])]
        sizes = {"messages": len(saved)}
        return bool(saved) and all(
            sizes.get(kind, measure.sum(saved)) * WORTHWHILE >= limit for kind, limit in limits.items()
        )


def _cut_by_tokens(measure: Measure, tokens: int) -> int:
    """Return the cut position that keeps at most `tokens`, but at least the last message."""
    cut, left = len(measure.costs), tokens / measure.scale
    while cut > 0 and measure.costs[cut - 1] <= left:
        cut -= 1
        left -= measure.costs[cut]
    return max(0, min(cut, len(measure.costs) - 1))


def _move_off_pairs(messages: Sequence[AnyMessage], cut: int) -> int:
    """Return the cut, moved back until it separates no result from its call."""
    callers: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for at, message in enumerate(messages):
        if isinstance(message, AIMessage):
            callers |= {str(call["id"]): at for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.tool_call_id in callers:
            pairs.append((callers[message.tool_call_id], at))
    for caller, result in reversed(pairs):
        if caller < cut <= result:
            cut = caller
    return cut


def _list_requests(messages: Sequence[AnyMessage]) -> set[int]:
    """Return the positions of a person's newest message, and of the first message of a turn in progress."""
    found: list[int] = []
    is_in_progress = False
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if is_from_person(message):
            found.append(at)
        elif isinstance(message, AIMessage):
            if found and not message.tool_calls:
                break
            is_in_progress = True
    return {found[0], *(found[-1:] if is_in_progress else [])} if found else set()
