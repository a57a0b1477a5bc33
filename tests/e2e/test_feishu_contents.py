"""Each content type of Feishu, from the event to what the model is sent: in the turn if a person sends it to
the bot, and in the record and a digest of the chat if they send it to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock

from bot.texts import texts_for
from tests.corpus import Sample
from tests.harness.feishu_config import feishu_config
from tests.harness.feishu_groups import MIRA, SECONDS, RecordedGroup, answers, told_model
from tests.harness.feishu_samples import (
    SampleAnswers,
    deliver_sample,
    find_chat,
    is_for_the_bot,
    load_distinct_samples,
    sender_name,
    to_others,
)
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long, pytest.mark.usefixtures("patient_lookups")]

AT_ONCE = 16
"""Conversations that begin without waiting."""
IN_A_GROUP = 20
"""Messages that one record holds: as many as the agent is told at once."""
NOTICES = ["system-divider", "system-group-renamed-event", "system-member-added-event",
           "system-members-invited", "system-other-template", "video-call"]  # fmt: skip
"""Sentences of the platform, and calls that begin."""
APPS = ["bot-card-mention", "bot-post-mention", "bot-text-mention"]
TO_THE_GROUP = ["calendar-event-shared", "poll", "poll-closed", "post-mention-everyone", "red-packet",
                "text-mention-everyone", "text-mention-everyone-unlisted"]  # fmt: skip
RECALLED = ["recall-by-author", "recall-by-group-owner"]
UNREADABLE = {
    "card-image-only": "interactive",
    "card-template": "interactive",
    "card-unreadable": "interactive",
    "contact-card-unknown": "share_user",
    "folder": "folder release-notes",
    "unknown-content": "something_newest",
    "unknown-type": "something_newer",
}
"""Content that the bot can't read, with its name: by itself it is answered by a notice, without the model."""


def names(samples: Sequence[Sample]) -> list[str]:
    return [sample.name for sample in samples]


def misread(sample: Sample, texts: Sequence[str]) -> str:
    """Return what is wrong with the text about a sample among these texts, "" if one is right. Ids may stand
    beside names there.
    """
    about = [text for text in texts if f'"{sender_name(sample)}"' in text]
    for text in about:
        lost = [words for words in sample.reads if words not in text]
        added = [words for words in sample.omits if words in text and not words.startswith("ou_")]
        if not lost and not added:
            return ""
    return f"{sample.name}: {about or 'nothing'}"


def test_every_sample_is_sent_by_one_of_these_tests() -> None:
    samples = load_distinct_samples()
    others = {*NOTICES, *APPS, *TO_THE_GROUP, *RECALLED}
    assert set(names(samples)) - others == {one.name for one in samples if is_for_the_bot(one)}
    assert len(samples) - len(others) == 81
    assert UNREADABLE.keys() <= set(names(samples)) - others


async def test_the_model_reads_what_a_person_sends(tmp_path: Path, llmock: LLMock) -> None:
    addressed = [one for one in load_distinct_samples() if is_for_the_bot(one)]
    samples = [one for one in addressed if one.name not in UNREADABLE]
    async with (
        SampleAnswers.serve(limits=False) as emulator,
        running(tmp_path, feishu_config(emulator, llmock, MIRA)),
    ):
        for start in range(0, len(samples), AT_ONCE):
            batch, before = samples[start : start + AT_ONCE], len(llmock.requests)
            for sample in batch:
                llmock.reply("Noted.")
                deliver_sample(emulator, sample)
            await until(
                lambda: all(answers(emulator, find_chat(one)) for one in batch),  # noqa: B023  within the turn
                SECONDS,
                lambda: f"{ {one.name: answers(emulator, find_chat(one)) for one in batch} }",  # noqa: B023
            )
            told = told_model(llmock, "user", before)
            assert [wrong for one in batch if (wrong := misread(one, told))] == []
    assert len(llmock.requests) == len(samples), "one turn for each"


async def test_what_nobody_can_read_is_answered_by_a_notice(tmp_path: Path, llmock: LLMock) -> None:
    samples = [one for one in load_distinct_samples() if one.name in UNREADABLE]
    texts = texts_for("en")
    async with (
        SampleAnswers.serve(limits=False) as emulator,
        running(tmp_path, feishu_config(emulator, llmock, MIRA)),
    ):
        for sample in samples:
            deliver_sample(emulator, sample)
        await until(
            lambda: all(answers(emulator, find_chat(one)) for one in samples), SECONDS, lambda: "no notice"
        )
        found = {one.name: answers(emulator, find_chat(one)) for one in samples}
    kinds = {name: texts.kind(kind) for name, kind in UNREADABLE.items()}
    assert found == {name: [texts("unsupported", kind=kind)] for name, kind in kinds.items()}
    assert llmock.requests == []


async def test_record_and_digest_hold_what_others_saw(tmp_path: Path, llmock: LLMock) -> None:
    samples = load_distinct_samples()
    async with (
        SampleAnswers.serve(limits=False) as emulator,
        running(tmp_path, feishu_config(emulator, llmock, MIRA)),
    ):
        for start in range(0, len(samples), IN_A_GROUP):
            group = RecordedGroup(emulator, llmock)
            await group.begin()
            batch = [to_others(one, group.chat) for one in samples[start : start + IN_A_GROUP]]
            for sample in batch:
                deliver_sample(emulator, sample)
            record, digest = await group.ask(), await group.summarize()
            for lines in (record, digest):
                written = [one for one in batch if one.name not in RECALLED]
                assert [wrong for one in written if (wrong := misread(one, lines))] == []
                recalled = [one for one in batch if one.name in RECALLED]
                assert [one.name for one in recalled if f"draft of {one.name}" in "".join(lines)] == []
