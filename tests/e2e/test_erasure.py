"""A person is erased from every file of the data directory, and the group they were in goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.planted_words import (
    ANN,
    BEN,
    BEN_SAID,
    SECONDS,
    WORDS,
    ask,
    find_words,
    finished,
    group_config,
    plant,
    stored_text,
)
from tests.harness.service import ServiceProcess
from tests.harness.waiters import answers, until

pytestmark = pytest.mark.may_block


def thread_folders(home: Path) -> list[str]:
    """The threads that have files."""
    return [one.name for one in home.glob("threads/*")]


WRITER = r"""{name: writer, use: "roebot_testing.agent:ScriptedChatModel",
  script: {reply: "- Ann \"\x51uill\" told a code.\n- There is a regatta."}}"""
SUMMARIES = """
summarization:
  model_name: writer
  trigger: [{type: messages, value: 6}]
  keep: {type: messages, value: 2}"""


@pytest.mark.parametrize(
    "summaries",
    [pytest.param("", id="whole", marks=pytest.mark.long), pytest.param(SUMMARIES, id="summarized")],
)
async def test_no_file_holds_the_words_of_an_erased_person(tmp_path: Path, summaries: str) -> None:
    async with TelegramEmulator.serve() as emulator:
        config = group_config(emulator) + summaries
        if summaries:
            # A group is one thread, so that there is something to summarize.
            config = config.replace("telegram: {", "telegram: {isolation: chat, ")
            config = config.replace('Model"}]', f'Model"}}, {WRITER}]')
        service = ServiceProcess(tmp_path / "home", config, is_forked=True)
        try:
            service.start()
            await service.ready()
            group = await plant(emulator, service)
            planted = find_words(service.home)
            assert f"(telegram:{ANN})" in stored_text(service.home)
            assert {where.rpartition(" ")[2] for where in planted} == set(WORDS), planted
            assert any(".transcripts/" in where for where in planted) == bool(summaries)
            threads = set(thread_folders(service.home))
            said = await ask(emulator, "/data erase yes", service, user=ANN)
            assert "Your data has been erased" in said
            await until(lambda: "started over" in answers(emulator, group)[-1].text, SECONDS, service.log)
            await finished(service)
            assert find_words(service.home) == []
            assert threads.isdisjoint(thread_folders(service.home)), "others' files go with the thread"
            left = stored_text(service.home)
            assert left.count(BEN_SAID) > 3
            assert f"(telegram:{ANN})" not in left
            bot = f"@{emulator.world.bot.username}"
            answer = await ask(
                emulator, f"{bot} and the weather? [reply=it is sunny]", service, user=BEN, chat=group
            )
            assert answer == "it is sunny"
            assert service.stop() == 0
            assert find_words(service.home) == []
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill()
