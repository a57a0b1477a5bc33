"""Posts, growing cards, replies and refusals, as people see them."""

from __future__ import annotations

import asyncio

import pytest

from bot.account_state import Live
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.base import DeletesMessages, EditsMessages, RepeatsSafely, SendsFiles
from bot.platforms.feishu.adapter import FeishuAdapter
from bot.platforms.feishu.outbound import idempotency_key
from roebot_testing.emulators.feishu import FeishuEmulator

from .conftest import ADA, BEN, Running, account, group, says


async def test_it_has_the_capabilities_of_the_platform(running: Running) -> None:
    for capability in (EditsMessages, DeletesMessages, SendsFiles, RepeatsSafely):
        assert isinstance(running.adapter, capability)
    assert running.adapter.repeats_safely


async def test_a_final_post_is_one_call_and_one_card(running: Running) -> None:
    running.settled()
    message_id = await running.adapter.send(says("**Hi** there\n\n- a", running.private()))
    [seen] = running.shown()
    assert seen["message_id"] == message_id
    assert seen["text"] == "**Hi** there\n\n- a"
    assert seen["summary"] == "Hi there • a"
    assert not seen["streaming"]
    assert seen["buttons"] == []
    assert running.calls("message.create") == 1
    assert running.calls("card.create") == 0


async def test_a_growing_reply_is_one_streaming_card(running: Running) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(says("one", address, final=False))
    [seen] = running.shown()
    assert seen["streaming"]
    assert [button["tag"] for button in seen["buttons"]] == ["button"]
    for text in ("one two", "one two three"):
        await running.adapter.edit(says(text, address, final=False), message_id)
        assert running.shown()[0]["text"] == text
    await running.adapter.edit(says("one two three four", address), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["buttons"]) == ("one two three four", False, [])
    assert seen["summary"] == "one two three four"
    assert running.calls("element.content") == 2
    assert running.calls("card.settings") == 1
    assert running.calls("card.update") == 1


async def test_a_frame_that_is_no_continuation_replaces_the_text(running: Running) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(says("abc", address, final=False))
    await running.adapter.edit(says("x", address, final=False), message_id)
    assert running.shown()[0]["text"] == "x"


async def test_a_reply_hangs_below_its_question(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    asked = emulator.people.says("@Roebot hi", chat=place)
    await running.adapter.send(says("yes", group(place, reply_to=asked.id)))
    [seen] = running.shown(place)
    assert (seen["reply_to"], seen["topic"]) == (asked.id, "")


async def test_a_reply_in_a_topic_stays_in_it(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    root = emulator.people.says("about", chat=place)
    asked = emulator.people.says("@Roebot hi", chat=place, reply_to=root.id, in_thread=True)
    await running.adapter.send(says("yes", group(place, asked.thread_id, asked.id)))
    [seen] = running.shown(place)
    assert seen["topic"] == asked.thread_id == root.thread_id
    assert seen["root_id"] == root.id


async def test_an_answer_to_a_message_that_was_taken_back_is_posted_all_the_same(
    running: Running, emulator: FeishuEmulator
) -> None:
    place = emulator.people.make_group("team")
    asked = emulator.people.says("@Roebot hi", chat=place)
    emulator.people.recalls(asked.id)
    await running.adapter.send(says("yes", group(place, reply_to=asked.id)))
    [seen] = running.shown(place)
    assert (seen["text"], seen["reply_to"]) == ("yes", "")


async def test_a_person_who_is_known_by_open_id_alone_can_be_written_to(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.world.person(BEN)
    from bot.domain import ChatKind, ReplyAddress

    await running.adapter.send(says("hi", ReplyAddress("fs", BEN, ChatKind.PRIVATE)))
    assert running.shown(emulator.people.private_chat(BEN))[0]["text"] == "hi"


async def test_a_message_is_taken_back(running: Running) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("oops", address, final=False))
    await running.adapter.delete(address, message_id)
    assert running.shown() == []
    await running.adapter.delete(address, message_id)


@pytest.mark.parametrize("final", [True, False])
async def test_a_lost_response_is_repeated_without_a_second_message(
    running: Running, emulator: FeishuEmulator, final: bool
) -> None:
    running.settled()
    address = running.private()
    emulator.fault("drop", method="message.create")
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.send(says("first", address, final=final))
    assert caught.value.unknown_outcome
    message_id = await running.adapter.send(says("first and more", address, final=final))
    [seen] = running.shown()
    assert (seen["message_id"], seen["text"]) == (message_id, "first and more")
    assert seen["streaming"] is not final
    await running.adapter.edit(says("the end", address), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("the end", False)


@pytest.mark.parametrize("settled", [True, False])
async def test_the_final_of_a_new_process_lands_in_the_message_of_the_old_one(
    emulator: FeishuEmulator, settled: bool
) -> None:
    first = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await first.start()
    address = first.private()
    message_id = await first.adapter.send(says("half an ans", address, final=False))
    # Its process dies here: nobody wrote down that the post succeeded.
    await first.stop()
    emulator.world.messages[message_id].created -= 20_000
    second = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await second.start()
    if settled:
        second.settled()
    assert await second.adapter.send(says("half an answer, and the rest", address)) == message_id
    [seen] = second.shown()
    assert (seen["text"], seen["streaming"]) == ("half an answer, and the rest", False)
    await second.stop()


async def test_edits_go_on_after_a_restart(emulator: FeishuEmulator) -> None:
    first = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await first.start()
    address = first.private()
    message_id = await first.adapter.send(says("one", address, final=False))
    for number in range(20):
        await first.adapter.edit(says(f"one {number}", address, final=False), message_id)
    await first.stop()
    second = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await second.start()
    await second.adapter.edit(says("one two", address, final=False), message_id)
    [seen] = second.shown()
    assert (seen["text"], seen["streaming"]) == ("one two", True)
    await second.adapter.edit(says("one two three", address, final=False), message_id)
    await second.adapter.edit(says("done", address), message_id)
    [seen] = second.shown()
    assert (seen["text"], seen["streaming"]) == ("done", False)
    await second.stop()


async def test_a_message_that_was_posted_whole_can_be_edited(running: Running) -> None:
    address = running.private()
    message_id = await running.adapter.send(says("one", address))
    await running.adapter.edit(says("two", address), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("two", False)


async def test_one_whose_card_cannot_be_found_is_patched(running: Running, emulator: FeishuEmulator) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(says("one", address))
    emulator.fault(
        "error", method="card.id_convert", status=400, description="200740 The card entity does not exist"
    )
    await running.adapter.edit(says("two", address), message_id)
    assert running.shown()[0]["text"] == "two"
    assert running.calls("message.patch") == 1


async def test_an_app_that_may_not_look_cards_up_patches_the_message(
    running: Running, emulator: FeishuEmulator
) -> None:
    running.settled()
    message_id = await running.adapter.send(says("one", running.private()))
    emulator.revoke_scopes(["cardkit:card:read"])
    await running.adapter.edit(says("two", running.private()), message_id)
    assert running.shown()[0]["text"] == "two"
    assert (running.calls("card.id_convert"), running.calls("message.patch")) == (1, 1)


@pytest.mark.parametrize("repeated", [False, True])
async def test_a_stream_that_may_be_a_repeat_needs_no_scope_to_look_cards_up(
    running: Running, emulator: FeishuEmulator, repeated: bool
) -> None:
    emulator.revoke_scopes(["cardkit:card:read"])
    if repeated:
        running.settled()
        emulator.fault("drop", method="message.create")
        with pytest.raises(DeliveryError):
            await running.adapter.send(says("one", running.private(), final=False))
    message_id = await running.adapter.send(says("one two", running.private(), final=False))
    [seen] = running.shown()
    assert (seen["message_id"], seen["text"]) == (message_id, "one two")
    await running.adapter.edit(says("one two three", running.private()), message_id)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["buttons"]) == ("one two three", False, [])


async def test_many_tables_arrive(running: Running) -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | 2 |"
    address = running.private()
    message_id = await running.adapter.send(says(table, address, final=False))
    for count in range(2, 7):
        text = "\n\n".join([table] * count)
        await running.adapter.edit(says(text, address, final=False), message_id)
    await running.adapter.edit(says("\n\n".join([table] * 7), address), message_id)
    assert running.shown()[0]["text"].count("| 1 | 2 |") == 7
    await running.adapter.send(says("\n\n".join([table] * 7), address, key="2:0"))
    assert running.shown()[1]["text"].count("```") == 8


@pytest.mark.parametrize("growing", [True, False])
async def test_what_is_refused_as_markdown_is_shown_as_plain_text(
    running: Running, emulator: FeishuEmulator, growing: bool
) -> None:
    running.settled()
    address = running.private()
    refusal = "230099 Failed to create card content, ext=ErrCode: 11310"
    if growing:
        message_id = await running.adapter.send(says("x", address, final=False))
        for method in ("card.update", "message.patch"):
            emulator.fault("error", method=method, status=400, description=refusal)
        await running.adapter.edit(says("**odd**", address), message_id)
    else:
        emulator.fault("error", method="message.create", status=400, description=refusal)
        await running.adapter.send(says("**odd**", address))
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["buttons"]) == ("**odd**", False, [])


@pytest.mark.parametrize(
    ("status", "description", "category"),
    [
        (400, "230002 The bot can not be outside the group.", DeliveryCategory.PERMISSION),
        (400, "230013 Bot has NO availability to this user.", DeliveryCategory.PERMISSION),
        (400, "99991672 Access denied.", DeliveryCategory.PERMISSION),
        (400, "230011 The message was withdrawn.", DeliveryCategory.NOT_FOUND),
        (
            400,
            "230025 The length of the message content reaches its limit.",
            DeliveryCategory.INVALID_PAYLOAD,
        ),
        (400, "230099 Failed to create card content", DeliveryCategory.INVALID_PAYLOAD),
        (400, "230049 The message is being sent.", DeliveryCategory.TRANSIENT),
        (500, "Internal Server Error", DeliveryCategory.TRANSIENT),
        (502, "Bad Gateway", DeliveryCategory.TRANSIENT),
    ],
)
async def test_refusals_have_a_category(
    running: Running, emulator: FeishuEmulator, status: int, description: str, category: DeliveryCategory
) -> None:
    address = running.private()
    emulator.fault("error", method="message.create", times=2, status=status, description=description)
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.send(says("hi", address))
    assert caught.value.category is category
    assert caught.value.unknown_outcome is (status >= 500)
    assert running.shown() == []


async def test_a_bot_that_was_removed_is_told_so(running: Running, emulator: FeishuEmulator) -> None:
    place = emulator.people.make_group("team")
    emulator.people.removes_bot(place)
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.send(says("hi", group(place)))
    assert caught.value.category is DeliveryCategory.PERMISSION
    emulator.people.adds_bot(place)
    await running.adapter.send(says("hi", group(place)))


async def test_the_frequency_limit_names_its_seconds(running: Running, emulator: FeishuEmulator) -> None:
    address = running.private()
    emulator.penalize(address.chat, 7)
    with pytest.raises(RateLimited) as caught:
        await running.adapter.send(says("hi", address))
    assert caught.value.retry_after == 7
    assert not caught.value.account_wide
    assert running.state.live is Live.LIMITED
    assert "7 s" in running.state.reason


@pytest.mark.parametrize(
    ("description", "wide"), [("230020 too often here", False), ("11232 too often of all", True)]
)
async def test_other_codes_of_too_many_calls(
    running: Running, emulator: FeishuEmulator, description: str, wide: bool
) -> None:
    emulator.fault("error", method="message.create", status=400, description=description)
    with pytest.raises(RateLimited) as caught:
        await running.adapter.send(says("hi", running.private()))
    assert (caught.value.retry_after, caught.value.account_wide) == (1.0, wide)


async def test_the_limit_of_the_app_blocks_the_account(emulator: FeishuEmulator, running: Running) -> None:
    emulator.limits(True, scale=20)
    chats = [emulator.people.make_group(str(number)) for number in range(60)]
    posts = [running.adapter.send(says("hi", group(chat))) for chat in chats]
    found = await asyncio.gather(*posts, return_exceptions=True)
    refused = [error for error in found if isinstance(error, BaseException)]
    assert refused
    assert all(isinstance(error, RateLimited) and error.account_wide for error in refused)


async def test_an_expired_token_is_renewed_without_a_word(running: Running, emulator: FeishuEmulator) -> None:
    await running.adapter.send(says("one", running.private()))
    emulator.expire_tokens()
    await running.adapter.send(says("two", running.private(), key="2:0"))
    assert [seen["text"] for seen in running.shown()] == ["one", "two"]
    assert running.calls("token") == 2


async def test_a_closed_adapter_says_so(running: Running) -> None:
    await running.stop()
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.send(says("hi", running.private()))
    assert caught.value.category is DeliveryCategory.TRANSIENT


def test_the_idempotency_key_is_short_and_of_one_reply_only() -> None:
    one = group("oc_1", reply_to="om_1")
    keys = {
        idempotency_key("1:0", one),
        idempotency_key("1:1", one),
        idempotency_key("1:0", group("oc_2", reply_to="om_1")),
        idempotency_key("1:0", group("oc_1", reply_to="om_2")),
        idempotency_key("1:0", group("oc_1", "omt_1", "om_1")),
    }
    assert len(keys) == 5
    assert idempotency_key("1:0", one) == idempotency_key("1:0", group("oc_1", reply_to="om_1"))
    assert all(len(key) <= 50 for key in keys)


async def test_nothing_of_a_person_is_needed_to_write(running: Running) -> None:
    assert running.emulator.people.private_chat(ADA) == running.private().chat
