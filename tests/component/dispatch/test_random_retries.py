"""Retries in random conversations: each run is told what the original one was, and nothing is told twice."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from bot.store.read_models import count_open_turns
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_chat_record import overhears, says
from tests.component.dispatch.test_retry_notes import contents, edits

ROUNDS = 20


class Talk:
    """A topic of a recorded group, in which each word is written once."""

    def __init__(self, at: Bench, random: Random) -> None:
        self._at, self._random = at, random
        self._words = 0
        self.written: dict[str, str] = {}
        """What the next turn or the last one is told: words by message."""

    async def overhear(self) -> None:
        """Up to three people write."""
        for _ in range(self._random.randrange(4)):
            word = self._make_word()
            await overhears(self._at, word, person=self._random.choice("89"), topic="t9")
            self.written[self._at.adapter.last_heard] = word

    async def ask(self) -> str:
        """Ask, with any end of the run; return what the run was told."""
        self._at.runtime.script = answer_with("Fine.", status=self._random.choice(["success", "error"]))
        word = self._make_word()
        await says(self._at, word, topic="t9")
        self.written[self._at.adapter.last_heard] = word
        return await self._end_run()

    async def edit(self, messages: Sequence[str]) -> dict[str, str]:
        """Change up to two messages; return the new words by the old ones."""
        changed = {}
        for message in self._random.sample(messages, min(len(messages), self._random.randrange(3))):
            changed[self.written[message]] = word = self._make_word()
            await edits(self._at, message, word)
        return changed

    async def retry(self) -> str:
        """Retry the last turn; return what the run was told."""
        self._at.runtime.script = answer_with("Fine.")
        runs = len(self._at.runtime.runs)
        await says(self._at, "/retry", topic="t9")
        await self._at.until(lambda: len(self._at.runtime.runs) == runs + 1)
        return await self._end_run()

    async def _end_run(self) -> str:
        self._at.runtime.checkpoints[[*self._at.runtime.runs][-1]] = "cp-1"
        while await self._at.db.transact(count_open_turns):
            await self._at.rest(1.0)
        return contents(self._at)[-1]

    def _make_word(self) -> str:
        self._words += 1
        return f"w{self._words:03}e"


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.long) for one in range(1, 5))])
async def test_a_retry_is_told_the_same(at: Bench, seed: int) -> None:
    random = Random(seed)
    talk = Talk(at, random)
    unseen: set[str] = set()
    async with at.running():
        await says(at, "/record on 30")
        for _ in range(ROUNDS):
            await talk.overhear()
            told = await talk.ask()
            assert {
                one: told.count(one) for one in (*talk.written.values(), *unseen) if told.count(one) != 1
            } == {}
            retries = random.randrange(3)
            # Only a retry is told of a change to what others wrote.
            changed = await talk.edit([*talk.written] if retries else [*talk.written][-1:])
            unseen = set(changed.values())
            talk.written = {}
            await talk.overhear()
            for _ in range(retries):
                for old, new in changed.items():
                    told = told.replace(old, new)
                again = await talk.retry()
                assert again == told, f"{told}\n=== retried\n{again}"
                unseen = set()
