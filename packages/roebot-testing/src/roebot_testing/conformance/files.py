"""Files and pictures, both ways."""

from __future__ import annotations

import pytest

from bot.domain import Attachment
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.base import FetchesFiles, RepeatsSafely, SendsFiles
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import ANN_IN_TEAM, Ability
from roebot_testing.conformance.needs import implements, needs
from roebot_testing.conformance.suite import Suite

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
CONTENT = bytes(range(256)) * 300
SENT = {
    "report.txt": b"some words\n",
    "data.bin": CONTENT,
    "pixel.png": PIXEL,
    "报告 (2) “final”.txt": "内容".encode(),
    "no_picture.png": b"this is no picture at all",
}


class FileCases(Suite):
    @needs(SendsFiles, Ability.FILES)
    @pytest.mark.parametrize("filename", SENT)
    async def test_a_file_arrives_with_its_name_and_content(self, stage: Stage, filename: str) -> None:
        message_id = await stage.send_file(stage.file(SENT[filename], filename, await stage.reply_address()))
        seen = stage.one()
        assert seen.id == message_id
        assert seen.data == SENT[filename]
        if not (filename.endswith(".png") and not seen.filename):  # a picture may go without its name
            assert seen.filename == filename

    @needs(SendsFiles, Ability.FILES, Ability.GROUPS)
    async def test_a_file_for_a_group_goes_there(self, stage: Stage) -> None:
        await stage.send_file(stage.file(b"x", "a.txt", await stage.reply_address(at=ANN_IN_TEAM)))
        assert stage.one(ANN_IN_TEAM).data == b"x"

    @needs(SendsFiles, Ability.LOSES_ANSWERS)
    async def test_a_file_whose_answer_got_lost(self, stage: Stage) -> None:
        file = stage.file(b"once", "once.txt", await stage.reply_address())
        stage.platform.loses_answer("file")
        try:
            found = await stage.send_file(file)
        except DeliveryError as error:
            assert error.unknown_outcome
        else:  # it looked, and found it
            assert found == stage.one().id
        assert stage.one().data == b"once"
        if implements(stage.adapter, RepeatsSafely):
            message_id = await stage.send_file(file)
            assert stage.one().id == message_id

    @needs(SendsFiles, Ability.LOSES_ANSWERS)
    async def test_a_file_that_the_server_failed_to_take_is_sent_again(self, stage: Stage) -> None:
        file = stage.file(b"twice", "twice.txt", await stage.reply_address())
        stage.platform.fails("file")
        with pytest.raises(DeliveryError) as caught:
            await stage.send_file(file)
        assert caught.value.category is DeliveryCategory.TRANSIENT
        await stage.send_file(file)
        assert stage.one().data == b"twice"

    @needs(SendsFiles, Ability.FILES)
    async def test_an_empty_file_is_taken_or_refused_for_good(self, stage: Stage) -> None:
        try:
            await stage.send_file(stage.file(b"", "empty.txt", await stage.reply_address()))
        except DeliveryError as error:
            assert error.category is DeliveryCategory.INVALID_PAYLOAD
            assert not error.unknown_outcome
            assert stage.seen() == []
        else:
            assert stage.one().filename == "empty.txt"

    @needs(FetchesFiles)
    @pytest.mark.parametrize("filename", ["notes.txt", "报告 2.bin"])
    async def test_a_file_of_a_person_can_be_read(self, stage: Stage, filename: str) -> None:
        attachment = await _received(stage, CONTENT, filename)
        assert attachment.filename == filename
        assert attachment.size in (-1, len(CONTENT))
        assert await _content(stage, attachment) == CONTENT
        assert await _content(stage, attachment) == CONTENT

    @needs(FetchesFiles)
    async def test_a_file_that_is_not_there_is_not_found(self, stage: Stage) -> None:
        attachment = await _received(stage, b"here", "here.txt")
        lost = Attachment(attachment.kind, "gone.txt", attachment.ref + "gone")
        with pytest.raises(DeliveryError) as caught:
            await _content(stage, lost)
        assert not caught.value.unknown_outcome
        assert await _content(stage, attachment) == b"here"


async def _received(stage: Stage, data: bytes, filename: str) -> Attachment:
    count = len(stage.inbox.messages)
    await stage.platform.sends_file(data, filename, "application/octet-stream")
    heard = (await stage.inbox.until(count + 1))[-1]
    assert heard.addressed
    assert not heard.unsupported
    assert len(heard.attachments) == 1
    return heard.attachments[0]


async def _content(stage: Stage, attachment: Attachment) -> bytes:
    assert isinstance(stage.adapter, FetchesFiles)
    return b"".join([chunk async for chunk in stage.adapter.fetch(attachment)])


Files = FileCases
"""Former name of the topic, kept for suites that import it."""
