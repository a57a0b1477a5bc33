"""Limits on lookups for events: their time, their number, and the cost of an unresponsive API."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.clock import Clock
from bot.platforms.feishu.errors import FeishuUnreached

T = TypeVar("T")

ASK_SECONDS = 0.8
"""Longest wait for one answer (s)."""
EVENT_SECONDS = 1.5
"""Time for all questions about one event (s): Feishu waits 3 s for the acknowledgement, which comes after the
event is stored.
"""
LEAST_SECONDS = 0.005
"""Shortest time for which it is worth asking (s)."""
SILENCES = 3
"""Number of consecutive unanswered questions after which none is asked for SILENT_SECONDS."""
SILENT_SECONDS = 10.0

_deadline: ContextVar[float] = ContextVar("feishu_lookups_deadline", default=math.inf)
"""When the current task may ask no more, as the loop's time."""
_answers: ContextVar[dict[str, Any] | None] = ContextVar("feishu_lookups_answers", default=None)
"""Answers that the current task has already, by question."""


def limit_lookups(seconds: float) -> None:
    """Limit the current task's lookups to this time; with 0.0 it only gets known data. No answered question
    is asked again.
    """
    _deadline.set(asyncio.get_running_loop().time() + seconds)
    _answers.set({})


class NotAsked(TimeoutError):
    """A question was not asked, so there is no information about its subject."""


@dataclass(slots=True)
class _Question:
    """A pending question, and the number of waiting tasks."""

    task: asyncio.Task[Any]
    waiting: int = 0
    silent: bool = False


class FeishuLookups:
    """Asks each question once for all tasks that wait for it simultaneously."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: dict[str, _Question] = {}
        self._silences = 0
        self._silent_until = 0.0

    async def ask(self, key: str, question: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the answer to the question `key`. Raises TimeoutError on timeout, NotAsked without time
        left, and the exceptions of `question`.
        """
        answers = _answers.get()
        if answers is not None and key in answers:
            known: T = answers[key]
            return known
        left = min(ASK_SECONDS, _deadline.get() - asyncio.get_running_loop().time())
        if left < LEAST_SECONDS or self._clock.now() < self._silent_until:
            raise NotAsked("not asked")
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = _Question(asyncio.create_task(question(), name="feishu-lookup"))
        asked.waiting += 1
        try:
            async with asyncio.timeout(left):
                answer: T = await asyncio.shield(asked.task)
        except (FeishuUnreached, TimeoutError):
            if left == ASK_SECONDS or asked.task.done():
                self._note_silence(asked)
            raise
        finally:
            asked.waiting -= 1
            if asked.waiting == 0:
                asked.task.cancel()
                del self._asked[key]
        self._silences = 0
        if answers is not None:
            answers[key] = answer
        return answer

    def _note_silence(self, asked: _Question) -> None:
        self._silences += not asked.silent
        asked.silent = True
        if self._silences >= SILENCES:
            self._silences, self._silent_until = 0, self._clock.now() + SILENT_SECONDS
