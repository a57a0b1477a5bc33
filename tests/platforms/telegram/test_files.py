"""Files in both directions, at their limits and when the line breaks."""

from __future__ import annotations

import pytest

from bot.domain import Attachment, AttachmentKind, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.telegram.files import DOWNLOAD_LIMIT, PHOTO_LIMIT, UPLOAD_LIMIT
from roebot_testing.emulators.telegram.people import PIXEL

from .conftest import Running, group, private


async def fetched(running: Running, attachment: Attachment) -> bytes:
    return b"".join([chunk async for chunk in running.adapter.fetch(attachment)])


async def test_a_document_comes_in_whole(running: Running) -> None:
    data = bytes(range(256)) * 4096
    running.emulator.people.says("read", user=7, media="document", data=data, filename="a.bin", mime="x/y")
    [message] = await running.shelf.until(1)
    [attachment] = message.attachments
    assert (attachment.kind, attachment.filename, attachment.mime, attachment.size) == (
        AttachmentKind.FILE,
        "a.bin",
        "x/y",
        len(data),
    )
    assert message.text == "read"
    assert await fetched(running, attachment) == data


async def test_a_photo_comes_in_at_its_largest(running: Running) -> None:
    running.emulator.people.says("look", user=7, media="photo", data=PIXEL + b"\0" * 5000)
    [message] = await running.shelf.until(1)
    [attachment] = message.attachments
    assert attachment.kind is AttachmentKind.IMAGE and attachment.mime == "image/jpeg"
    assert attachment.size == len(PIXEL) + 5000
    assert len(await fetched(running, attachment)) == attachment.size


@pytest.mark.parametrize("kind", ["video", "audio"])
async def test_films_and_music_are_files(running: Running, kind: str) -> None:
    running.emulator.people.says("", user=7, media=kind, data=b"film", filename=f"a.{kind}")
    [message] = await running.shelf.until(1)
    assert [attachment.filename for attachment in message.attachments] == [f"a.{kind}"]
    assert await fetched(running, message.attachments[0]) == b"film"


async def test_a_file_that_is_too_large_is_not_even_asked_for(running: Running) -> None:
    large = Attachment(AttachmentKind.FILE, "big", "ref", DOWNLOAD_LIMIT + 1)
    with pytest.raises(DeliveryError, match="up to 20 MB") as refused:
        await fetched(running, large)
    assert refused.value.category is DeliveryCategory.INVALID_PAYLOAD
    assert "getFile" not in running.emulator.counters()["calls"]


async def test_a_server_that_refuses_a_large_file_says_so(running: Running) -> None:
    running.emulator.people.says("", user=7, media="document", data=b"0" * (DOWNLOAD_LIMIT + 1))
    [message] = await running.shelf.until(1)
    unknown_size = Attachment(AttachmentKind.FILE, "big", message.attachments[0].ref)
    with pytest.raises(DeliveryError, match="file is too big"):
        await fetched(running, unknown_size)


async def test_a_file_that_lies_about_its_size_is_cut_off(running: Running) -> None:
    running.emulator.people.says("", user=7, media="document", data=b"small")
    [message] = await running.shelf.until(1)
    stored = running.emulator.world.file(message.attachments[0].ref)
    running.emulator.world.files[stored.file_id] = stored
    path = stored.path
    stored.data = b"0" * (DOWNLOAD_LIMIT + 1)
    running.emulator.world.files_by_path[path] = stored
    small = running.emulator.world.store("document", "b", "", b"small")
    small.path = path
    with pytest.raises(DeliveryError, match="over 20 MB"):
        await fetched(running, Attachment(AttachmentKind.FILE, "b", small.file_id))


async def test_an_unknown_file_is_refused(running: Running) -> None:
    with pytest.raises(DeliveryError, match="invalid file_id"):
        await fetched(running, Attachment(AttachmentKind.FILE, "x", "no-such-id"))


@pytest.mark.parametrize(
    ("kind", "category"),
    [("drop", DeliveryCategory.TRANSIENT), ("error", DeliveryCategory.TRANSIENT)],
)
async def test_a_download_that_breaks_off(running: Running, kind: str, category: DeliveryCategory) -> None:
    running.emulator.people.says("", user=7, media="document", data=b"abc")
    [message] = await running.shelf.until(1)
    running.emulator.fault(kind, method="download", status=502, times=2 if kind == "drop" else 1)
    with pytest.raises(DeliveryError) as broken:
        await fetched(running, message.attachments[0])
    assert broken.value.category is category and not broken.value.unknown_outcome
    assert await fetched(running, message.attachments[0]) == b"abc"


async def test_a_download_is_asked_for_once_more_when_the_line_breaks(running: Running) -> None:
    running.emulator.people.says("", user=7, media="document", data=b"abc")
    [message] = await running.shelf.until(1)
    running.emulator.fault("drop", method="download")
    assert await fetched(running, message.attachments[0]) == b"abc"


@pytest.mark.parametrize("name", ["отчёт 报告 📈.csv", 'a"b\\c.csv', "line\nbreak.csv", "half\ud800.csv"])
async def test_an_artifact_keeps_its_name_as_far_as_it_can_be_shown(running: Running, name: str) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send_file(OutboundFile("1:1", private(), name, "text/csv", b"1"))
    [sent] = [message for message in running.emulator.view(7)["messages"] if message["from_bot"]]
    assert sent["filename"] == name.replace("\n", "_").replace("\ud800", "_")


async def test_a_large_artifact_arrives_whole(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    data = bytes(range(256)) * 4 * 4096
    await running.adapter.send_file(OutboundFile("1:1", private(), "l.bin", "x/y", data))
    [sent] = [message for message in running.emulator.view(7)["messages"] if message["from_bot"]]
    assert running.emulator.world.file(sent["file_id"]).data == data


async def test_artifacts_go_out_as_documents_and_pictures(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send_file(OutboundFile("1:1", private(), "r.csv", "text/csv", b"a,b\n1,2\n"))
    await running.adapter.send_file(OutboundFile("1:2", private(), "p.png", "image/png", PIXEL))
    sent = [message for message in running.emulator.view(7)["messages"] if message["from_bot"]]
    assert [(message["kind"], message["filename"]) for message in sent] == [
        ("document", "r.csv"),
        ("photo", "p.png"),
    ]
    assert running.emulator.world.file(sent[0]["file_id"]).data == b"a,b\n1,2\n"


async def test_a_picture_that_is_none_goes_as_a_document(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send_file(OutboundFile("1:1", private(), "p.png", "image/png", b"not a picture"))
    large = PIXEL + b"\0" * PHOTO_LIMIT
    await running.adapter.send_file(OutboundFile("1:2", private(), "l.png", "image/png", large))
    kinds = [message["kind"] for message in running.emulator.view(7)["messages"] if message["from_bot"]]
    assert kinds == ["document", "document"]


async def test_an_artifact_over_the_limit_is_refused_here(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    with pytest.raises(DeliveryError, match="up to 50 MB"):
        await running.adapter.send_file(OutboundFile("1:1", private(), "x", "x/y", bytes(UPLOAD_LIMIT + 1)))
    assert "sendDocument" not in running.emulator.counters()["calls"]


async def test_a_file_goes_to_its_topic_and_a_lost_answer_is_unknown(running: Running) -> None:
    forum = running.emulator.people.make_group(forum=True)
    topic = running.emulator.people.make_topic(forum, "Files")
    await running.adapter.send_file(OutboundFile("1:1", group(forum, topic), "a.txt", "text/plain", b"a"))
    assert running.emulator.view(forum)["messages"][0]["topic"] == topic
    running.emulator.fault("drop", method="sendDocument")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send_file(OutboundFile("1:2", group(forum, topic), "b.txt", "text/plain", b"b"))
    assert lost.value.unknown_outcome


async def test_a_failed_picture_of_unknown_outcome_is_not_sent_again_as_a_document(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    running.emulator.fault("drop", method="sendPhoto")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send_file(OutboundFile("1:1", private(), "p.png", "image/png", PIXEL))
    assert lost.value.unknown_outcome
    assert "sendDocument" not in running.emulator.counters()["calls"]
