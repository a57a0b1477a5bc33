"""Files both ways."""

from __future__ import annotations

import pytest

from bot.domain import Attachment, AttachmentKind, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.feishu import files
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.people import PIXEL

from .conftest import Running, group


def file(running: Running, name: str, mime: str, data: bytes, key: str = "1:1") -> OutboundFile:
    return OutboundFile(key, running.private(), name, mime, data)


async def fetched(running: Running, attachment: Attachment) -> bytes:
    return b"".join([chunk async for chunk in running.adapter.fetch(attachment)])


@pytest.mark.parametrize("kind", ["image", "file", "media"])
async def test_an_attachment_is_fetched(running: Running, emulator: FeishuEmulator, kind: str) -> None:
    content = bytes(range(256)) * 1000
    emulator.people.says(kind=kind, data=content, filename="a.bin")
    [message] = await running.shelf.until(1)
    assert await fetched(running, message.attachments[0]) == content


async def test_a_picture_goes_as_a_picture(running: Running, emulator: FeishuEmulator) -> None:
    await running.adapter.send_file(file(running, "a.png", "image/png", PIXEL))
    [seen] = running.shown()
    assert seen["kind"] == "image"
    assert emulator.world.files[seen["content"]["image_key"]].data == PIXEL


@pytest.mark.parametrize("name", ["report.pdf", "notes.txt", "数据.csv", 'odd"name\n.txt', "noextension"])
async def test_a_file_goes_as_a_file(running: Running, emulator: FeishuEmulator, name: str) -> None:
    await running.adapter.send_file(file(running, name, "application/pdf", b"content"))
    [seen] = running.shown()
    assert seen["kind"] == "file"
    stored = emulator.world.files[seen["content"]["file_key"]]
    assert stored.data == b"content"
    assert stored.name == name.replace("\n", "_")


async def test_a_picture_that_is_refused_goes_as_a_file(running: Running, emulator: FeishuEmulator) -> None:
    emulator.fault("error", method="image.create", status=400, description="234011 Can't recognize the image")
    await running.adapter.send_file(file(running, "a.png", "image/png", b"no picture"))
    assert [seen["kind"] for seen in running.shown()] == ["file"]


async def test_a_large_picture_goes_as_a_file(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "IMAGE_LIMIT", 10)
    await running.adapter.send_file(file(running, "a.png", "image/png", PIXEL))
    assert [seen["kind"] for seen in running.shown()] == ["file"]


async def test_a_file_hangs_below_its_question(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    root = emulator.people.says("about", chat=place)
    asked = emulator.people.says("@Roebot file?", chat=place, reply_to=root.id, in_thread=True)
    address = group(place, asked.thread_id, asked.id)
    await running.adapter.send_file(OutboundFile("1:1", address, "a.txt", "text/plain", b"a"))
    assert running.shown(place)[0]["topic"] == root.thread_id


async def test_a_lost_response_is_repeated_safely(running: Running, emulator: FeishuEmulator) -> None:
    emulator.fault("drop", method="message.create")
    sent = file(running, "a.txt", "text/plain", b"a")
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.send_file(sent)
    assert caught.value.unknown_outcome
    message_id = await running.adapter.send_file(sent)
    assert [seen["message_id"] for seen in running.shown()] == [message_id]


@pytest.mark.parametrize("size", [0, 30 * 1024 * 1024 + 1])
async def test_sizes_that_feishu_does_not_take(running: Running, size: int) -> None:
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.send_file(file(running, "a.bin", "application/octet-stream", bytes(size)))
    assert caught.value.category is DeliveryCategory.INVALID_PAYLOAD
    assert running.shown() == []


@pytest.mark.parametrize("ref", ["om_unknown/file_1", "nonsense", "", "../../x/y", "om_1/../../z"])
async def test_a_file_that_is_gone(running: Running, ref: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        await fetched(running, Attachment(AttachmentKind.FILE, "a", ref))
    assert caught.value.category in (DeliveryCategory.NOT_FOUND, DeliveryCategory.INVALID_PAYLOAD)


async def test_a_file_over_the_limit_is_cut_off(
    running: Running, emulator: FeishuEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "DOWNLOAD_LIMIT", 1000)
    emulator.people.says(kind="file", data=bytes(5000), filename="a.bin")
    [message] = await running.shelf.until(1)
    with pytest.raises(DeliveryError) as caught:
        await fetched(running, message.attachments[0])
    assert caught.value.category is DeliveryCategory.INVALID_PAYLOAD


@pytest.mark.parametrize(
    ("kind", "category"), [("error", DeliveryCategory.TRANSIENT), ("close", DeliveryCategory.TRANSIENT)]
)
async def test_a_download_that_breaks_off(
    running: Running, emulator: FeishuEmulator, kind: str, category: DeliveryCategory
) -> None:
    emulator.people.says(kind="file", data=b"abc", filename="a.bin")
    [message] = await running.shelf.until(1)
    emulator.fault(kind, method="resource.get", times=2)
    with pytest.raises(DeliveryError) as caught:
        await fetched(running, message.attachments[0])
    assert caught.value.category is category
    emulator.clear_faults()
    assert await fetched(running, message.attachments[0]) == b"abc"
