"""The providers' caches of prompts, which calculate hits by their published rules.

Tokens are counted as a quarter of the characters of a part. A cache never helps a client: it knows only what
earlier requests contained, compares parts exactly, and counts what the provider would bill.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Any

Body = dict[str, Any]
CHARACTERS = 4
MARK = "cache_control"


@dataclass(frozen=True, slots=True)
class CacheUse:
    """Input tokens of a request: all of them, those read from the cache, those written to it for a price."""

    total: int
    read: int = 0
    written: int = 0


class PromptCache(ABC):
    """Counts the tokens of each request; `uses` are those so far."""

    def __init__(self) -> None:
        self.uses: list[CacheUse] = []

    def count(self, body: Body) -> CacheUse:
        """Return what the request uses, and remember it for later requests."""
        self.uses.append(self._count(body))
        return self.uses[-1]

    def hit_ratio(self, first: int = 0) -> float:
        """Return the share of tokens that was read from the cache, from request `first` on."""
        counted = self.uses[first:]
        return sum(use.read for use in counted) / sum(use.total for use in counted)

    @abstractmethod
    def _count(self, body: Body) -> CacheUse:
        """Count one request."""


def tokens_of(text: str) -> int:
    """Return the tokens of a text."""
    return -(-len(text) // CHARACTERS)


def list_blocks(body: Body) -> Iterator[tuple[str, bool]]:
    """Yield the blocks of a request to Anthropic's API as texts, in the order of the prefix, and their marks.

    The order is tools, system, messages; a text in place of blocks is one block.
    """
    for tool in body.get("tools") or ():
        yield _dump("tool", tool), MARK in tool
    for block in _blocks(body.get("system") or []):
        yield _dump("system", block), MARK in block
    for message in body["messages"]:
        for block in _blocks(message["content"]):
            yield _dump(message["role"], block), MARK in block


def list_parts(body: Body) -> Iterator[tuple[str, bool]]:
    """Yield the same of a request for chat completions, as OpenRouter translates it for Anthropic."""
    for tool in body.get("tools") or ():
        yield _dump("tool", tool), False
    messages = body["messages"]
    for message in [one for one in messages if one["role"] == "system"]:
        yield from ((_dump("system", part), MARK in part) for part in _blocks(message["content"]))
    for message in [one for one in messages if one["role"] != "system"]:
        for part in _blocks(message.get("content") or []):
            yield _dump(message["role"], part), MARK in part
        for call in message.get("tool_calls") or ():
            yield _dump("call", call), False


def _blocks(content: str | list[Body]) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _dump(role: str, block: Body) -> str:
    plain = {key: value for key, value in block.items() if key != MARK}
    if isinstance(plain.get("content"), str):
        plain["content"] = _blocks(plain["content"])
    return f"{role} {json.dumps(plain, sort_keys=True)}"


@dataclass
class MarkedCache(PromptCache):
    """Anthropic's (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).

    Prefixes that end at a mark are written, if they have the minimum of tokens. Each mark looks for an entry
    at its own block and the 19 before it; an entry lives for `seconds` after its last use. The minimum is
    1,024 tokens for Sonnet, 4,096 for Haiku 4.5 and some others.
    """

    minimum: int = 1_024
    lookback: int = 20
    seconds: float = 300.0
    clock: Callable[[], float] = lambda: 0.0
    parts: Callable[[Body], Iterator[tuple[str, bool]]] = list_blocks
    uses: list[CacheUse] = field(default_factory=list)
    entries: dict[tuple[str, ...], float] = field(default_factory=dict)

    def _count(self, body: Body) -> CacheUse:
        found = list(self.parts(body))
        texts = tuple(text for text, _ in found)
        sizes = [0, *accumulate(map(tokens_of, texts))]
        ends = [at + 1 for at, (_, marked) in enumerate(found) if marked and sizes[at + 1] >= self.minimum]
        now = self.clock()
        read = max((self._find(texts, end, now) for end in ends), default=0)
        for end in ends:
            self.entries[texts[:end]] = now
        written = sizes[max(ends, default=0)] - sizes[read]
        return CacheUse(sizes[-1], sizes[read], max(written, 0))

    def _find(self, texts: tuple[str, ...], end: int, now: float) -> int:
        """Return the number of blocks of the longest live entry that a mark finds."""
        for length in range(end, max(end - self.lookback, 0), -1):
            used = self.entries.get(texts[:length])
            if used is not None and now - used <= self.seconds:
                self.entries[texts[:length]] = now
                return length
        return 0


@dataclass
class SteppedCache(PromptCache):
    """OpenAI's (https://developers.openai.com/api/docs/guides/prompt-caching).

    The longest prefix that an earlier request had, of at least 1,024 tokens and in steps of 128. Requests
    with different keys reach different machines.
    """

    minimum: int = 1_024
    step: int = 128
    uses: list[CacheUse] = field(default_factory=list)
    known: dict[str, list[str]] = field(default_factory=dict)

    def _count(self, body: Body) -> CacheUse:
        text = "\n".join(_serialize(body))
        known = self.known.setdefault(body.get("prompt_cache_key") or "", [])
        shared = max((count_shared(text, one) for one in known), default=0) // CHARACTERS
        known.append(text)
        read = shared // self.step * self.step
        return CacheUse(tokens_of(text), read if read >= self.minimum else 0)


@dataclass
class UnitCache(PromptCache):
    """DeepSeek's (https://api-docs.deepseek.com/guides/kv_cache).

    A request hits a unit that it contains whole from its beginning. Units are earlier requests, and what two
    earlier requests had in common. Tokens are stored in blocks of 64
    (https://api-docs.deepseek.com/news/news0802).
    """

    block: int = 64
    uses: list[CacheUse] = field(default_factory=list)
    units: set[tuple[str, ...]] = field(default_factory=set)
    known: list[tuple[str, ...]] = field(default_factory=list)

    def _count(self, body: Body) -> CacheUse:
        parts = tuple(_serialize(body))
        hits = [unit for unit in self.units if parts[: len(unit)] == unit]
        read = max((sum(map(tokens_of, unit)) for unit in hits), default=0) // self.block * self.block
        self.units |= {_common(parts, one) for one in self.known} | {parts}
        self.units.discard(())
        self.known.append(parts)
        return CacheUse(sum(map(tokens_of, parts)), read)


def _common(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    pairs = zip(one, other, strict=False)
    return tuple(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def count_shared(text: str, other: str) -> int:
    """Return the length of the beginning that two texts have in common."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[:middle] == other[:middle] else (low, middle - 1)
    return low


def _serialize(body: Body) -> Iterator[str]:
    """Yield tools and messages in the order of the prompt."""
    yield from (json.dumps(tool, sort_keys=True) for tool in body.get("tools") or ())
    if "instructions" in body:
        yield json.dumps(body["instructions"])
    for message in body.get("messages") or body["input"]:
        yield json.dumps(message, sort_keys=True)
