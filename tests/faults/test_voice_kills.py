"""kill -9 around the transcription of a voice message.

The message is answered once after the restart. Its transcript is neither lost nor read twice, and a recording
that was transcribed is not sent to the transcriber again.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.faults import VARIABLE, Step
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.faults.chats import SCALE
from tests.harness.reading_model import MODEL, count_read, list_reads
from tests.harness.service import PERSON, ServiceProcess, config_text
from tests.harness.sqlite import open_turns, turns
from tests.harness.strict_providers.transcription import OGG, Failure, StrictTranscription
from tests.harness.waiters import answers

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

PATIENCE = 60.0
SAID = "Please move the review to Friday."
AFTER_TRANSCRIPTION = (Step.TRANSCRIBED, Step.RUN_CREATED, Step.MID_STREAM)
STORED = "SELECT quotations FROM inbound"


@dataclass
class Stage:
    """A private chat on Telegram, the service, and a transcription service that outlives it."""

    emulator: TelegramEmulator
    transcriber: StrictTranscription
    service: ServiceProcess

    async def starts(self, **env: str) -> None:
        """Start the service and wait for it."""
        self.service.start(**env)
        await self.service.ready(PATIENCE)

    def speaks(self) -> None:
        """Send a voice message to the bot."""
        self.emulator.people.records_voice(data=OGG, user=PERSON)

    async def eventually(self, done: Callable[[], object]) -> None:
        """Wait for something to be so."""
        deadline = self.service.deadline(PATIENCE)
        while not done():
            assert not deadline.passed, f"{self.texts()}\n{self.service.log()}"
            await asyncio.sleep(0.02)

    async def ends(self) -> None:
        """Wait until the only turn is closed, and stop the service: then nothing can follow."""
        home = self.service.home
        await self.eventually(lambda: turns(home) == 1 and not open_turns(home))
        assert self.service.stop() == 0

    def texts(self) -> list[str]:
        """Return the bot's messages as they stand."""
        return [seen.text for seen in answers(self.emulator, PERSON)]

    def stored(self) -> str:
        """Return the stored quotations of the message."""
        file = self.service.home / "bot.db"
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5.0)) as database:
            [(quotations,)] = database.execute(STORED).fetchall()
        return str(quotations)

    async def is_held(self) -> None:
        """Wait until the transcriber has a recording, which it holds."""
        await self.eventually(self.transcriber.reached.is_set)
        self.transcriber.reached.clear()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    transcriber = StrictTranscription()
    async with TelegramEmulator.serve(scale=SCALE) as emulator, transcriber.serve() as base:
        section = (
            "transcriber: {use: 'agent.transcription.openai:OpenAITranscriber', "
            f"base_url: '{base}', api_key: sk-test, model: whisper-1}}"
        )
        script = 'ReadingModel", script: {reply: "Moved to Friday, as asked.", every: 0.2}'
        model = MODEL.replace('ReadingModel"', script)
        config = config_text(emulator, model=model, extra=section, scale=SCALE)
        service = ServiceProcess(tmp_path / "home", config)
        yield Stage(emulator, transcriber, service)
        if service.process is not None and service.process.poll() is None:
            service.kill()


def check_transcript(stage: Stage) -> None:
    """The answer stands once, and its turn has the transcript once."""
    assert stage.texts() == ["Moved to Friday, as asked."]
    assert count_read(stage.service.home, SAID, 'kind="transcript"') == [1, 1]
    assert stage.stored().count(SAID) == 1
    assert stage.transcriber.rejections == []


@pytest.mark.parametrize("step", AFTER_TRANSCRIPTION)
async def test_a_transcript_is_made_once(stage: Stage, step: Step) -> None:
    stage.transcriber.texts.append(SAID)
    await stage.starts(**{VARIABLE: step.value})
    stage.speaks()
    assert await stage.service.died(PATIENCE) == -9, stage.service.log()
    await stage.starts()
    await stage.ends()
    check_transcript(stage)
    assert len(stage.transcriber.sent) == 1


@pytest.mark.parametrize("agent_alone", [True, False])
async def test_a_kill_during_a_transcription(stage: Stage, agent_alone: bool) -> None:
    stage.transcriber.texts += [SAID] * 2
    stage.transcriber.hold()
    await stage.starts()
    stage.speaks()
    await stage.is_held()
    agent = stage.service.agent()
    assert agent is not None
    agent.kill()
    if not agent_alone:
        stage.service.kill()
        await stage.starts()
    await stage.is_held()
    assert stage.texts() == [] == list_reads(stage.service.home)
    stage.transcriber.release()
    await stage.ends()
    check_transcript(stage)
    assert len(stage.transcriber.sent) == 2


async def test_a_transcriber_that_fails_after_the_restart(stage: Stage) -> None:
    # The request of the first life may still take one, and a request that fails is sent once more.
    stage.transcriber.failures += [Failure()] * 3
    stage.transcriber.hold()
    await stage.starts()
    stage.speaks()
    await stage.is_held()
    agent = stage.service.agent()
    assert agent is not None
    agent.kill()
    stage.service.kill()
    await stage.starts()
    await stage.is_held()
    stage.transcriber.release()
    await stage.ends()
    assert stage.texts() == ["Moved to Friday, as asked."]
    [[read]] = list_reads(stage.service.home)
    assert read.count("[No transcript of the voice message") == 1
    assert 'kind="transcript"' not in read
    assert "transcript" not in stage.stored()
