"""Files both ways, within the bounds, and nothing of ours leaves with a download."""

from __future__ import annotations

import pytest

from bot.domain import Attachment, AttachmentKind, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError

from .conftest import Running, Shelf, group, private


async def fetched(running: Running, attachment: Attachment) -> bytes:
    return b"".join([chunk async for chunk in running.adapter.fetch(attachment)])


async def test_an_attachment_is_fetched_by_its_message(running: Running, shelf: Shelf) -> None:
    content = bytes(range(256)) * 1000
    running.emulator.people.says("see", filename="a.bin", data=content)
    [message] = await shelf.until(1)
    assert await fetched(running, message.attachments[0]) == content


async def test_a_file_in_a_thread_is_fetched_from_there(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    thread = running.emulator.people.make_thread(chat, by_bot=True)
    running.emulator.people.says("see", chat=thread, filename="a.txt", data=b"inside")
    [message] = await shelf.until(1)
    assert await fetched(running, message.attachments[0]) == b"inside"


async def test_what_is_gone_is_not_found(running: Running, shelf: Shelf) -> None:
    sent = running.emulator.people.says("see", filename="a.txt", data=b"x")
    [message] = await shelf.until(1)
    running.emulator.fault("error", method="download", status=404)
    with pytest.raises(DeliveryError) as missing:
        await fetched(running, message.attachments[0])
    assert missing.value.category is DeliveryCategory.NOT_FOUND
    running.emulator.people.deletes(sent.channel.id, sent.id)
    with pytest.raises(DeliveryError) as gone:
        await fetched(running, message.attachments[0])
    assert gone.value.category is DeliveryCategory.NOT_FOUND


async def test_a_file_that_left_its_message_is_not_found(running: Running, shelf: Shelf) -> None:
    sent = running.emulator.people.says("see", filename="a.txt", data=b"x")
    [message] = await shelf.until(1)
    sent.files.clear()
    with pytest.raises(DeliveryError, match="no longer contains the file"):
        await fetched(running, message.attachments[0])


@pytest.mark.parametrize("ref", ["", "1", "1/2", "a/b/c", "../../users/@me/1"])
async def test_a_strange_reference_is_not_found(running: Running, ref: str) -> None:
    with pytest.raises(DeliveryError) as refused:
        await fetched(running, Attachment(AttachmentKind.FILE, "x", ref))
    assert refused.value.category is DeliveryCategory.NOT_FOUND


async def test_a_large_file_is_not_fetched(running: Running) -> None:
    large = Attachment(AttachmentKind.FILE, "x", "1/2/3", size=21 * 1024 * 1024)
    with pytest.raises(DeliveryError, match="20 MB"):
        await fetched(running, large)


async def test_a_file_goes_out_as_an_answer(running: Running) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("make one", chat=chat)
    file = OutboundFile("5:1", group(chat, reply_to=asked.id), "räport.csv", "text/csv", b"a;b")
    first = await running.adapter.send_file(file)
    assert await running.adapter.send_file(file) == first
    [_, seen] = running.emulator.view(chat)["messages"]
    assert (seen["kind"], seen["filename"], seen["reply_to"]) == ("file", "räport.csv", asked.id)
    [stored] = running.emulator.world.channels[chat].messages[int(first)].files
    assert (stored.data, stored.mime) == (b"a;b", "text/csv")


@pytest.mark.parametrize("name", ["отчёт за март.csv", "季度报告.xlsx", "Zürich – Plan.pdf"])
async def test_names_of_all_scripts_survive(running: Running, shelf: Shelf, name: str) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send_file(OutboundFile("5:1", here, name, "", b"x"))
    [stored] = running.emulator.world.channels[int(here.chat)].messages[int(posted)].files
    assert stored.name.isascii() and stored.display_name == name
    running.emulator.people.says("see", filename=name, data=b"x")
    [message] = await shelf.until(1)
    assert [one.filename for one in message.attachments] == [name]


async def test_a_name_that_cannot_be_shown_is_mended(running: Running) -> None:
    here = private(running.emulator)
    await running.adapter.send_file(OutboundFile("5:1", here, "a\r\nb\0.txt", "", b"x"))
    [seen] = running.emulator.view(int(here.chat))["messages"]
    assert seen["filename"] == "a__b_.txt"


async def test_a_file_that_is_too_large_is_refused_before_it_leaves(running: Running) -> None:
    data = b"x" * (10 * 1024 * 1024 + 1)
    with pytest.raises(DeliveryError, match="10 MB") as refused:
        await running.adapter.send_file(OutboundFile("5:1", private(running.emulator), "x", "", data))
    assert refused.value.category is DeliveryCategory.INVALID_PAYLOAD
    assert running.emulator.transcript.calls["createMessage"] == 0


async def test_a_lost_response_to_a_file_is_an_unknown_outcome(running: Running) -> None:
    here = private(running.emulator)
    file = OutboundFile("5:1", here, "a.txt", "text/plain", b"x")
    running.emulator.fault("drop", method="createMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send_file(file)
    assert lost.value.unknown_outcome
    await running.adapter.send_file(file)
    assert len(running.emulator.view(int(here.chat))["messages"]) == 1
