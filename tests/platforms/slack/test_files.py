"""Files both ways, and who is given the token."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import Attachment, AttachmentKind, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.slack.client import SlackClient
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import Running


async def content(running: Running, attachment: Attachment) -> bytes:
    return b"".join([chunk async for chunk in running.adapter.fetch(attachment)])


async def received(running: Running, **more: Any) -> Attachment:
    running.emulator.people.says("see", filename="a.txt", **more)
    return (await running.shelf.until(1))[0].attachments[0]


async def test_a_file_is_fetched_whole(running: Running) -> None:
    data = bytes(range(256)) * 1000
    assert await content(running, await received(running, data=data)) == data


async def test_a_file_of_a_shared_channel_is_asked_for(running: Running) -> None:
    shared = running.emulator.people.make_channel("shared", shared=True)
    running.shelf.recorded.add(shared)
    attachment = await received(running, data=b"theirs", channel=shared)
    assert (attachment.filename, attachment.size) == ("a.txt", 6)
    assert await content(running, attachment) == b"theirs"


async def test_a_page_is_a_file_too(running: Running) -> None:
    attachment = await received(running, data=b"<html>", mime="text/html")
    assert await content(running, attachment) == b"<html>"


async def test_a_sign_in_page_is_no_file(running: Running) -> None:
    attachment = await received(running, data=b"secret")
    running.adapter.session.client._token = "xoxb-without-files-read"
    with pytest.raises(DeliveryError, match="files:read") as refused:
        await content(running, attachment)
    assert refused.value.category is DeliveryCategory.PERMISSION


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (403, DeliveryCategory.PERMISSION),
        (302, DeliveryCategory.PERMISSION),
        (404, DeliveryCategory.NOT_FOUND),
        (502, DeliveryCategory.TRANSIENT),
    ],
)
async def test_downloads_that_fail(running: Running, status: int, category: DeliveryCategory) -> None:
    attachment = await received(running, data=b"x")
    running.emulator.fault("error", method="download", status=status)
    with pytest.raises(DeliveryError) as failed:
        await content(running, attachment)
    assert failed.value.category is category


async def test_a_download_that_breaks_off(running: Running) -> None:
    attachment = await received(running, data=b"x")
    running.emulator.fault("close", method="download", times=-1)
    with pytest.raises(DeliveryError) as failed:
        await content(running, attachment)
    assert failed.value.category is DeliveryCategory.TRANSIENT and not failed.value.unknown_outcome


async def test_a_file_that_is_gone(running: Running) -> None:
    with pytest.raises(DeliveryError) as gone:
        await content(running, Attachment(AttachmentKind.FILE, "a", "F0MISSING"))
    assert gone.value.category is DeliveryCategory.NOT_FOUND


@pytest.mark.parametrize(
    ("address", "trusted"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a", True),
        ("https://slack.com/x", True),
        ("http://files.slack.com/x", False),
        ("https://files.slack.com.example.org/x", False),
        ("https://evilslack.com/x", False),
        ("https://slack.com@example.org/x", False),
        ("http://127.0.0.1:4000/files-pri/F1/a", True),
        ("http://127.0.0.1:4001/files-pri/F1/a", False),
        ("https://127.0.0.1:4000/files-pri/F1/a", False),
        ("", False),
    ],
)
def test_the_token_goes_to_slack_only(address: str, trusted: bool) -> None:
    assert SlackClient("xoxb-x", "", "http://127.0.0.1:4000/api/").trusted(address) is trusted


async def test_a_file_elsewhere_is_not_fetched(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    attachment = await received(running, data=b"x")
    monkeypatch.setattr(
        type(running.emulator), "origin", property(lambda _: "http://127.0.0.1:9"), raising=True
    )
    with pytest.raises(DeliveryError, match="not stored by Slack"):
        await content(running, attachment)


async def test_a_file_goes_out_into_its_thread(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send_file(OutboundFile("1:1", address, "r.csv", "text/csv", b"a,b"))
    [seen] = running.shown()
    assert (seen["ts"], seen["files"], seen["thread_ts"]) == (ts, ["r.csv"], address.topic)
    stored = running.emulator.world.files
    assert [file.data for file in stored.values()] == [b"a,b"]


async def test_a_file_of_unknown_outcome_is_there_once(running: Running) -> None:
    address = await running.asked()
    running.emulator.fault("drop", method="files.completeUploadExternal")
    ts = await running.adapter.send_file(OutboundFile("1:1", address, "r.csv", "text/csv", b"a,b"))
    assert [seen["ts"] for seen in running.shown()] == [ts]


async def test_a_file_that_was_not_shared_may_be_sent_again(running: Running) -> None:
    address = await running.asked()
    running.emulator.fault("close", method="files.completeUploadExternal")
    file = OutboundFile("1:1", address, "r.csv", "text/csv", b"a,b")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send_file(file)
    assert lost.value.category is DeliveryCategory.TRANSIENT and not lost.value.unknown_outcome
    await running.adapter.send_file(file)
    assert [seen["files"] for seen in running.shown()] == [["r.csv"]]


@pytest.mark.parametrize("kind", ["close", "error"])
async def test_an_upload_that_fails_shows_nothing(running: Running, kind: str) -> None:
    address = await running.asked()
    running.emulator.fault(kind, method="upload")
    with pytest.raises(DeliveryError) as failed:
        await running.adapter.send_file(OutboundFile("1:1", address, "r.csv", "text/csv", b"a"))
    assert failed.value.category is DeliveryCategory.TRANSIENT and not failed.value.unknown_outcome
    assert running.shown() == []


async def test_an_empty_file_is_refused_in_words(running: Running) -> None:
    address = await running.asked()
    with pytest.raises(DeliveryError, match="not accept empty files"):
        await running.adapter.send_file(OutboundFile("1:1", address, "r.csv", "text/csv", b""))


async def test_a_file_of_unknown_outcome_before_a_crash_is_found_after_it(emulator: SlackEmulator) -> None:
    """Slack takes no key with a file: its thread is read, and name and size tell it."""
    team = emulator.people.make_channel("team")
    first = await Running(emulator).start()
    address = await first.asked("@roebot go", channel=team)
    await first.adapter.send_file(OutboundFile("1:1", address, "a.csv", "text/csv", b"a,b"))
    await first.adapter.send_file(OutboundFile("1:2", address, "b.csv", "text/csv", b"a,b,c"))
    await first.stop()
    second = await Running(emulator).start()
    # The last one is a file of unknown outcome to the second life, and "c.csv" was never sent.
    await second.adapter.send_file(OutboundFile("1:2", address, "b.csv", "text/csv", b"a,b,c"))
    await second.adapter.send_file(OutboundFile("1:3", address, "c.csv", "text/csv", b"a,b,c"))
    await second.adapter.send_file(OutboundFile("1:4", address, "b.csv", "text/csv", b"other bytes"))
    assert [seen["files"] for seen in second.shown(team)] == [["a.csv"], ["b.csv"], ["c.csv"], ["b.csv"]]
    await second.stop()


async def test_a_file_that_slack_shows_later_is_there_once(running: Running) -> None:
    """The answer to the sharing is lost, and Slack does not know of the message at once."""
    address = await running.asked()
    running.emulator.fault("drop", method="files.completeUploadExternal")
    running.emulator.fault("error", method="files.info", description="file_not_found", status=200)
    file = OutboundFile("1:1", address, "r.csv", "text/csv", b"a,b")
    with pytest.raises(DeliveryError):
        await running.adapter.send_file(file)
    ts = await running.adapter.send_file(file)
    assert [seen["ts"] for seen in running.shown()] == [ts]
