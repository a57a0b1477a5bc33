"""What was sent to the provider stays as it is over a conversation, so that it is read from the cache."""

from __future__ import annotations

from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from tests.harness.inprocess_service import ShiftedClock
from tests.harness.strict_providers import Reply
from tests.played.recording import RecordedModel, call
from tests.played.rooms import BOB, BOT, File, open_room
from tests.played.stage import open_stage

pytestmark = [pytest.mark.may_block, pytest.mark.bubblewrap, pytest.mark.timeout(300)]

DAY = 86_400.0
SETTINGS = """title: {enabled: false}
memory: {debounce_seconds: 1}
schedules: {timezone: Europe/Berlin}"""
ONE_CONVERSATION = "isolation: chat"
CHAT = "<chat>"
PLATFORMS = [
    pytest.param("telegram"),
    *(pytest.param(name, marks=pytest.mark.long) for name in ("slack", "discord", "feishu")),
]
FILE = File("notes.txt", b"Heron has 18,400 EUR.\n", "text/plain")
ANSWERS = (
    call("bash", command="date", description="Look at the clock"),
    Reply("Hello Ann."),
    call("read_file", path="/mnt/user-data/uploads/notes.txt"),
    call("bash", command="wc -c /mnt/user-data/uploads/notes.txt"),
    Reply("It has 18,400 EUR."),
    Reply("Hello Bob."),
    Reply("Yes, a day has passed."),
    Reply("Goodbye."),
)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_conversation_only_grows(tmp_path: Path, platform: str) -> None:
    model, clock = RecordedModel(*ANSWERS), ShiftedClock()
    options = {"group": True, "settings": SETTINGS, "account": ONE_CONVERSATION, "clock": clock}
    async with open_stage(tmp_path, platform, model, **options) as stage:
        await stage.ask(f"{BOT} hello")
        await stage.ask(f"{BOT} what budget has Heron?", files=[FILE])
        await stage.ask(f"{BOT} and I am Bob", by=BOB)
        clock.jump(DAY)
        await stage.ask(f"{BOT} has a day passed?")
        await stage.ask(f"{BOT} goodbye")
        assert model.rejections == [], await stage.describe()
    requests = model.lead
    assert len(requests) == len(ANSWERS)
    assert len({one.system for one in requests}) == 1
    assert CHAT in requests[0].system
    for earlier, later in pairwise(requests):
        assert later.tools == earlier.tools
        assert later.messages[: len(earlier.messages)] == earlier.messages
    days = {text for one in requests[-1].messages if "today is" in (text := str(one["content"]))}
    assert days, "the later day is told"
    lead_uses = [model.cache.uses[one.number - 1] for one in requests[1:]]
    assert sum(use.read for use in lead_uses) > 0.8 * sum(use.total for use in lead_uses)


@pytest.mark.long
async def test_all_chats_share_the_beginning(tmp_path: Path) -> None:
    chats = {"telegram": True, "slack": False, "discord": True, "feishu": False}
    model = RecordedModel(otherwise=Reply("Hello."))
    async with AsyncExitStack() as stack:
        opened = [open_room(platform, group=group) for platform, group in chats.items()]
        rooms = [await stack.enter_async_context(one) for one in opened]
        stage = await stack.enter_async_context(
            open_stage(tmp_path, "page", model, settings=SETTINGS, others=rooms)
        )
        for room in (stage.room, *rooms):
            stage.room = room
            await stage.ask(f"{BOT} hello")
    assert len({one.system for one in model.lead}) == len(model.lead) == 1 + len(chats)
    shared = {one.system.partition(CHAT)[0] for one in model.lead}
    assert len(shared) == 1
    assert len(shared.pop()) > 1_000
    # In groups, reading the chat is one tool more.
    tools = [[tool for tool in one.tools if tool["name"] != "read_chat"] for one in model.lead]
    assert tools.count(tools[0]) == len(tools)
