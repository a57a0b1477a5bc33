"""Retries in random conversations: each retry has the input of the original run, with nothing repeated."""

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
    """A topic of a recorded group; each message is a unique word."""

    def __init__(self, at: Bench, random: Random) -> None:
        self._at, self._random = at, random
        self._count = 0
        self.words: dict[str, str] = {}
        """Words in the input of the next turn or the last one, by message id."""

    async def overhear(self) -> None:
        """Write up to three messages that don't address the bot."""
        for _ in range(self._random.randrange(4)):
            word = self._make_word()
            await overhears(self._at, word, person=self._random.choice("89"), topic="t9")
            self.words[self._at.adapter.last_message_id] = word

    async def ask(self) -> str:
        """Ask the bot; the run succeeds or fails. Return the run's input."""
        self._at.runtime.script = answer_with("Fine.", status=self._random.choice(["success", "error"]))
        word = self._make_word()
        await says(self._at, word, topic="t9")
        self.words[self._at.adapter.last_message_id] = word
        return await self._end_run()

    async def edit(self, messages: Sequence[str]) -> dict[str, str]:
        """Edit up to two messages; return the new words by the old ones."""
        new_words = {}
        for message in self._random.sample(messages, min(len(messages), self._random.randrange(3))):
            new_words[self.words[message]] = word = self._make_word()
            await edits(self._at, message, word)
        return new_words

    async def retry(self) -> str:
        """Retry the last turn; return the run's input."""
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
        self._count += 1
        return f"w{self._count:03}e"


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.long) for one in range(1, 5))])
async def test_a_retry_repeats_the_input_of_its_run(at: Bench, seed: int) -> None:
    random = Random(seed)
    talk = Talk(at, random)
    unseen: set[str] = set()
    async with at.running():
        await says(at, "/record on 30")
        for _ in range(ROUNDS):
            await talk.overhear()
            text = await talk.ask()
            assert {
                one: text.count(one) for one in (*talk.words.values(), *unseen) if text.count(one) != 1
            } == {}
            retries = random.randrange(3)
            # Only a retry includes edits of other people's messages.
            new_words = await talk.edit([*talk.words] if retries else [*talk.words][-1:])
            unseen = set(new_words.values())
            talk.words = {}
            await talk.overhear()
            for _ in range(retries):
                for old, new in new_words.items():
                    text = text.replace(old, new)
                retry_text = await talk.retry()
                assert retry_text == text, f"{text}\n=== retried\n{retry_text}"
                unseen = set()
