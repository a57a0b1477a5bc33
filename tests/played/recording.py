"""A model that repeats recorded answers: its own by number, and the usual ones to background requests."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable

from tests.harness.strict_providers import Reply
from tests.played.model import NoAnswer, PlayedModel
from tests.played.requests import BACKGROUND, ModelRequest, Purpose

Answer = Reply | Callable[[ModelRequest], Reply | Awaitable[Reply]]
"""A reply, or what makes one of the request that is answered."""
MEMORY = json.dumps({"user": {}, "history": {}, "add": [], "remove": []})
USUAL = {
    Purpose.TITLE: Reply("A conversation"),
    Purpose.MEMORY: Reply(MEMORY),
    Purpose.SUMMARY: Reply("- They talked about their work, and what was asked was done."),
}


class RecordedModel(PlayedModel):
    """Gives `lead` and `subagent` in order, and `background` by purpose.

    More requests of the lead agent get what `otherwise` makes, or fail without it.
    """

    def __init__(
        self,
        *lead: Answer,
        subagent: Sequence[Answer] = (),
        background: dict[Purpose, Answer] | None = None,
        otherwise: Answer | None = None,
    ) -> None:
        super().__init__(self._repeat)
        self._otherwise = otherwise
        self._first = 0
        self._scripts: dict[Purpose, deque[Answer]] = {}
        self.background: dict[Purpose, Answer] = {}
        self.restart(*lead, subagent=subagent, background=background)

    def of(self, purpose: Purpose) -> list[ModelRequest]:
        """Return the requests with this purpose, of the current script."""
        return [one for one in self.played[self._first :] if one.purpose is purpose]

    def restart(
        self,
        *lead: Answer,
        subagent: Sequence[Answer] = (),
        background: dict[Purpose, Answer] | None = None,
    ) -> None:
        """Begin another script, without the requests of the previous one."""
        self._first = len(self.played)
        self._scripts = {Purpose.LEAD: deque(lead), Purpose.SUBAGENT: deque(subagent)}
        self.background = {**USUAL, **(background or {})}

    def script(self, *lead: Answer) -> None:
        """Record more answers of the lead agent."""
        self._scripts[Purpose.LEAD].extend(lead)

    @property
    def lead(self) -> list[ModelRequest]:
        """The requests of the lead agent."""
        return self.of(Purpose.LEAD)

    @property
    def unused(self) -> int:
        """The number of recorded answers that nobody asked for."""
        return sum(map(len, self._scripts.values()))

    @property
    def background_share(self) -> float:
        """The share of requests whose answer nobody reads in a chat."""
        counts = Counter(one.purpose in BACKGROUND for one in self.played)
        return counts[True] / max(counts.total(), 1)

    async def _repeat(self, request: ModelRequest) -> Reply:
        chosen = self._choose_answer(request)
        if isinstance(chosen, Reply):
            return chosen
        made = chosen(request)
        return await made if isawaitable(made) else made

    def _choose_answer(self, request: ModelRequest) -> Answer:
        if request.purpose not in self._scripts:
            return self.background.get(request.purpose, Reply("Done."))
        if script := self._scripts[request.purpose]:
            return script.popleft()
        if self._otherwise is None or request.purpose is not Purpose.LEAD:
            raise NoAnswer(f"No answer was recorded for request {request.number}.")
        return self._otherwise


def call(name: str, **args: object) -> Reply:
    """Return a reply with one call."""
    return Reply(calls=((name, dict(args)),))


def calls(*given: tuple[str, dict[str, object]], text: str = "") -> Reply:
    """Return a reply with several calls, and a text beside them."""
    return Reply(text, tuple(given))
