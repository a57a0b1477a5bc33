"""The adapter that page and terminal share, its hub, and the files that come in."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bot.account_state import AccountState, Live
from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundEvent,
    InboundMessage,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
    Sender,
)
from bot.errors import AccountLost, DeliveryCategory, DeliveryError
from bot.platforms.base import (
    AdapterContext,
    AsksChoice,
    DeletesMessages,
    EditsMessages,
    FetchesFiles,
    RepeatsSafely,
    SendsFiles,
    ShowsTyping,
)
from bot.platforms.local.adapter import LocalAdapter, create_terminal, create_web, part_of
from bot.platforms.local.files import KEPT, FileTooLarge, InboxFiles, read_inbox
from bot.platforms.local.hub import MOST_CHATS, ReplyFrame, ReplyHub
from bot.platforms.local.manifest import TERMINAL, WEB
from roebot_testing.clock import ManualClock

ADDRESS = ReplyAddress("web", "chat", ChatKind.PRIVATE)


class Inbox:
    """Notes what is accepted."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.refuses: dict[str, str] = {}

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        self.messages += [event for event in events if isinstance(event, InboundMessage)]
        return self.refuses

    def records(self, chat: str) -> bool:
        return False

    async def has_thread_start(self, chat: str, topic: str) -> bool:
        return False

    def reaches_agent(self, message: InboundMessage) -> bool:
        return message.addressed

    def alone(self, message: InboundMessage) -> bool:
        return False

    async def cursor(self) -> str:
        return ""

    async def migrate_chat(self, old: str, new: str) -> None:
        raise AssertionError("chats here keep their ids")


class Seen:
    """Notes what a watcher is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def frame(self, frame: ReplyFrame) -> None:
        self.told.append((frame.turn, frame.index, frame.text))

    def type(self) -> None:
        self.told.append("typing")

    def nudge(self) -> None:
        self.told.append("rows")

    def close(self) -> None:
        self.told.append("closed")


def message(key: str, text: str, *, final: bool = False) -> OutboundMessage:
    return OutboundMessage(key, ADDRESS, text, final)


async def started(adapter: LocalAdapter) -> tuple[asyncio.Task[None], Inbox, list[AccountState], ManualClock]:
    inbox, states, clock = Inbox(), [], ManualClock()
    task = asyncio.create_task(adapter.start(AdapterContext(inbox, states.append, clock)))
    await clock.run_ready()
    return task, inbox, states, clock


def test_what_it_can_do_and_what_it_costs() -> None:
    for create, manifest in ((create_web, WEB), (create_terminal, TERMINAL)):
        adapter = create(manifest.platform, None)
        for ability in (EditsMessages, DeletesMessages, RepeatsSafely, ShowsTyping, SendsFiles, FetchesFiles):
            assert isinstance(adapter, ability), ability
        assert isinstance(adapter, AsksChoice) is (adapter.platform == "web")
        assert adapter.repeats_safely
        assert adapter.platform == manifest.platform
        assert manifest.adapter == f"bot.platforms.local.adapter:{create.__name__}"


def test_frames_of_the_page_are_well_formed_and_those_of_the_terminal_only_grow() -> None:
    web, terminal = create_web("web", None).renderer, create_terminal("terminal", None).renderer
    text = "**bold\n\n```py\nx = 1"
    assert web.frame(text).rstrip().endswith("```")
    texts = [terminal.frame(text[:size]) for size in range(1, len(text) + 1)]
    assert all(text.startswith(shown) for shown in texts)
    assert terminal.split("a\n\nb") == terminal.growing().split("a\n\nb") == ["a\n\nb"]
    assert terminal.split("  ") == []


async def test_it_is_live_at_once_and_ends_when_told() -> None:
    adapter = create_web("web", None)
    task, _, states, _ = await started(adapter)
    assert [state.live for state in states] == [Live.LIVE]
    seen = Seen()
    with adapter.hub.watch("chat", seen):
        await adapter.stop()
        await adapter.stop()
        await asyncio.wait_for(task, 2)
    assert seen.told == ["closed"]
    with pytest.raises(AccountLost, match="web is not running"):
        await adapter.receive_message("chat", "hi", event_id="e")


async def test_a_message_is_accepted_with_its_origin() -> None:
    adapter = create_web("web", None)
    task, inbox, states, clock = await started(adapter)
    file = Attachment(AttachmentKind.FILE, "a.txt", "/x/inbox/0", 1)
    await adapter.receive_message("chat", "hi", event_id="e-1", attachments=[file])
    (taken,) = inbox.messages
    assert (taken.event_id, taken.text, taken.sent_at) == ("e-1", "hi", clock.now())
    assert (taken.origin.account, taken.origin.platform, taken.origin.chat) == ("web", "web", "chat")
    assert taken.origin.chat_kind is ChatKind.PRIVATE
    assert taken.origin.sender.id == "owner"
    assert taken.attachments == (file,)
    assert states[-1].last_event == clock.now()
    await adapter.stop()
    await task


async def test_a_click_is_an_answer_to_the_message_with_the_button() -> None:
    adapter, ann = create_web("web", None), Sender("telegram:7", "Ann", account="tg")
    task, inbox, _, clock = await started(adapter)
    assert await adapter.receive_click("chat", "web:7:0", "yes", event_id="e-1", sender=ann) is None
    (taken,) = inbox.messages
    assert (taken.event_id, taken.text, taken.sent_at, taken.clicked) == ("e-1", "yes", clock.now(), True)
    assert (taken.origin.chat, taken.origin.reply_to, taken.origin.sender) == ("chat", "web:7:0", ann)
    inbox.refuses = {"e-2": "Not yours."}
    assert await adapter.receive_click("chat", "web:7:0", "yes", event_id="e-2", sender=ann) == "Not yours."
    await adapter.stop()
    await task
    with pytest.raises(AccountLost, match="web is not running"):
        await adapter.receive_click("chat", "web:7:0", "yes", event_id="e-3", sender=ann)


async def test_a_repeated_send_is_the_same_message() -> None:
    adapter = create_web("web", None)
    first = await adapter.send(message("7:0", "Hel"))
    assert await adapter.send(message("7:0", "Hel")) == first == "web:7:0"
    await adapter.edit(message("7:0", "Hello"), first)
    assert adapter.hub.list_frames("chat", 7) == {0: ReplyFrame(7, 0, "Hello")}
    assert adapter.hub.list_frames("chat", 6) == {}
    await adapter.edit(message("7:0", "Hello.", final=True), first)
    assert adapter.hub.list_frames("chat", 7) == {}


async def test_watchers_are_told_until_they_leave() -> None:
    adapter = create_web("web", None)
    seen, other = Seen(), Seen()
    with adapter.hub.watch("chat", seen), adapter.hub.watch("elsewhere", other):
        await adapter.typing(ADDRESS)
        await adapter.send(message("7:0", "Hel"))
        await adapter.send(message("7:1", "more"))
        await adapter.delete(ADDRESS, "web:7:1")
        await adapter.send_file(OutboundFile("7:2", ADDRESS, "a.txt", "text/plain", b"x"))
    await adapter.typing(ADDRESS)
    assert seen.told == ["typing", (7, 0, "Hel"), (7, 1, "more"), "rows", "rows"]
    assert other.told == []


def test_a_newer_turn_ends_the_older_and_memory_is_bounded() -> None:
    hub = ReplyHub()
    hub.publish_frame("chat", ReplyFrame(1, 0, "old"))
    hub.publish_frame("chat", ReplyFrame(2, 0, "new"))
    assert hub.list_frames("chat", 1) == {}
    assert hub.list_frames("chat", 2) == {0: ReplyFrame(2, 0, "new")}
    for number in range(MOST_CHATS):
        hub.publish_frame(f"other{number}", ReplyFrame(3, 0, "x"))
    assert hub.list_frames("chat", 2) == {}
    assert hub.list_frames(f"other{MOST_CHATS - 1}", 3)


@pytest.mark.parametrize("key", ["", "7", "7:", ":0", "7:draft", "x:0", "-1:0"])
def test_a_key_that_is_no_part_is_refused(key: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        part_of(key)
    assert caught.value.category is DeliveryCategory.INVALID_PAYLOAD


async def test_files_are_kept_read_and_swept(tmp_path: Path) -> None:
    inbox = InboxFiles(tmp_path)
    assert await inbox.delete_expired(0.0) == 0
    path, size = await inbox.store_file(io.BytesIO(b"x" * 600_000), 600_000)
    assert size == 600_000
    adapter = create_web("web", None)
    fetched = Attachment(AttachmentKind.FILE, "a.txt", str(path), size)
    assert b"".join([chunk async for chunk in adapter.fetch(fetched)]) == b"x" * 600_000
    written = (await asyncio.to_thread(path.stat)).st_mtime
    assert await inbox.delete_expired(written + KEPT - 1) == 0
    assert await inbox.delete_expired(written + KEPT + 1) == 1
    with pytest.raises(DeliveryError, match="no longer stored") as caught:
        _ = [chunk async for chunk in adapter.fetch(fetched)]
    assert caught.value.category is DeliveryCategory.NOT_FOUND


async def test_a_file_over_the_limit_leaves_nothing(tmp_path: Path) -> None:
    inbox = InboxFiles(tmp_path)
    with pytest.raises(FileTooLarge) as caught:
        await inbox.store_file(io.BytesIO(b"123456"), 5)
    assert caught.value.limit == 5
    assert await asyncio.to_thread(os.listdir, tmp_path / "inbox") == []
    path, _ = await inbox.store_file(io.BytesIO(b"12345"), 5)
    await inbox.delete_file(path)
    await inbox.delete_file(path)
    assert await asyncio.to_thread(os.listdir, tmp_path / "inbox") == []


@pytest.mark.parametrize(
    "name", ["../inbox/passwd", "inbox/passwd", "other/" + "0" * 32, "inbox/x/" + "0" * 32]
)
async def test_no_other_file_is_read(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    await asyncio.to_thread(target.parent.mkdir, parents=True, exist_ok=True)
    await asyncio.to_thread(target.write_text, "secret")
    with pytest.raises(FileNotFoundError):
        _ = [chunk async for chunk in read_inbox(target)]
