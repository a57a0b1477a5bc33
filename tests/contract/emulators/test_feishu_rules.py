"""The rules of the emulated Feishu: limits, life times, sequences, idempotency, faults."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest

from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.transcript import FrameKind

from .conftest import Ticks
from .feishu_app import Rest, card


@pytest.fixture
async def feishu(ticks: Ticks) -> AsyncIterator[FeishuEmulator]:
    async with FeishuEmulator.serve(monotonic=ticks) as running:
        yield running


@pytest.fixture
async def rest(feishu: FeishuEmulator) -> AsyncIterator[Rest]:
    client = Rest(feishu)
    await client.authorize()
    yield client
    await client.close()


async def test_five_messages_a_second_to_one_chat(feishu: FeishuEmulator, rest: Rest, ticks: Ticks) -> None:
    chat, other = (feishu.people.make_group(name) for name in ("a", "b"))
    for _ in range(5):
        await rest.say(chat)
    body = {"receive_id": chat, "msg_type": "text", "content": '{"text":"x"}'}
    answer = await rest.call("POST", "im/v1/messages", body, receive_id_type="chat_id")
    assert answer.status_code == 429
    assert answer.json()["code"] == 99991400
    assert answer.headers["x-ogw-ratelimit-reset"] == "1"
    assert answer.headers["x-ogw-ratelimit-limit"] == "5"
    await rest.say(other)
    ticks.at += 1.01
    await rest.say(chat)
    assert feishu.counters()["limited"] == 1


async def test_fifty_a_second_and_a_thousand_a_minute_of_one_app(
    feishu: FeishuEmulator, rest: Rest, ticks: Ticks
) -> None:
    chats = [feishu.people.make_group(str(number)) for number in range(60)]
    for chat in chats[:50]:
        await rest.say(chat)
    body = {"receive_id": chats[55], "msg_type": "text", "content": '{"text":"x"}'}
    answer = await rest.call("POST", "im/v1/messages", body, receive_id_type="chat_id")
    assert (answer.status_code, answer.headers["x-ogw-ratelimit-limit"]) == (429, "50")
    for _ in range(19):
        ticks.at += 1.01
        for chat in chats[:50]:
            await rest.say(chat)
    ticks.at += 1.01
    answer = await rest.call("POST", "im/v1/messages", body, receive_id_type="chat_id")
    assert answer.status_code == 429
    assert int(answer.headers["x-ogw-ratelimit-reset"]) > 30


async def test_ten_operations_a_second_on_one_card(feishu: FeishuEmulator, rest: Rest, ticks: Ticks) -> None:
    card_id, _ = await rest.card(feishu.people.make_group("a"))
    path = f"cardkit/v1/cards/{card_id}/elements/text/content"
    codes = [
        await rest.code("PUT", path, {"content": str(number), "sequence": number}) for number in range(1, 13)
    ]
    assert codes == [0] * 10 + [99991400] * 2
    ticks.at += 1.01
    assert await rest.code("PUT", path, {"content": "x", "sequence": 20}) == 0


async def test_a_penalty_is_on_one_chat_alone(feishu: FeishuEmulator, rest: Rest) -> None:
    chat, other = (feishu.people.make_group(name) for name in ("a", "b"))
    feishu.penalize(chat, 5000)
    body = {"receive_id": chat, "msg_type": "text", "content": '{"text":"x"}'}
    answer = await rest.call("POST", "im/v1/messages", body, receive_id_type="chat_id")
    assert answer.headers["x-ogw-ratelimit-reset"] == "5000"
    await rest.say(other)


async def test_limits_are_switched_and_scaled(feishu: FeishuEmulator, rest: Rest, ticks: Ticks) -> None:
    chat = feishu.people.make_group("a")
    feishu.limits(False)
    for _ in range(20):
        await rest.say(chat)
    feishu.limits(True, 0.1)
    for _ in range(5):
        await rest.say(chat)
    ticks.at += 0.11
    await rest.say(chat)
    assert feishu.counters()["limited"] == 0


async def test_the_streaming_mode_ends_after_ten_minutes(
    feishu: FeishuEmulator, rest: Rest, ticks: Ticks
) -> None:
    chat = feishu.people.make_group("a")
    card_id, _ = await rest.card(chat)
    path = f"cardkit/v1/cards/{card_id}"
    ticks.at += 599
    assert await rest.code("PUT", f"{path}/elements/text/content", {"content": "x", "sequence": 1}) == 0
    # Opening what is open does not lengthen its life.
    settings = orjson.dumps({"config": {"streaming_mode": True}}).decode()
    assert await rest.code("PATCH", f"{path}/settings", {"settings": settings, "sequence": 2}) == 0
    ticks.at += 2
    body = {"content": "y", "sequence": 3}
    assert await rest.code("PUT", f"{path}/elements/text/content", body) == 200850
    assert await rest.code("PUT", f"{path}/elements/text/content", body) == 300309
    assert not feishu.view(chat)["messages"][0]["streaming"]
    assert await rest.code("PATCH", f"{path}/settings", {"settings": settings, "sequence": 4}) == 0
    assert await rest.code("PUT", f"{path}/elements/text/content", {"content": "y", "sequence": 5}) == 0
    assert feishu.view(chat)["messages"][0]["text"] == "y"


async def test_a_sequence_rises_strictly(feishu: FeishuEmulator, rest: Rest) -> None:
    card_id, _ = await rest.card(feishu.people.make_group("a"))
    path = f"cardkit/v1/cards/{card_id}/elements/text/content"
    codes = [
        await rest.code("PUT", path, {"content": "x", "sequence": number})
        for number in (0, 5, 5, 4, 6, 2**31)
    ]
    assert codes == [300317, 0, 300317, 300317, 0, 300317]
    assert await rest.code("PUT", path, {"content": "x"}) == 99992402


async def test_a_whole_card_replaces_another(feishu: FeishuEmulator, rest: Rest) -> None:
    chat = feishu.people.make_group("a")
    card_id, message_id = await rest.card(chat)
    new = orjson.dumps(card("two", streaming=False)).decode()
    body = {"card": {"type": "card_json", "data": new}, "sequence": 1}
    await rest.ok("PUT", f"cardkit/v1/cards/{card_id}", body)
    [seen] = feishu.view(chat)["messages"]
    assert (seen["message_id"], seen["text"], seen["streaming"]) == (message_id, "two", False)
    found = await rest.ok("POST", "cardkit/v1/cards/id_convert", {"message_id": message_id})
    assert found == {"card_id": card_id}


async def test_a_message_is_patched_updated_and_taken_back(feishu: FeishuEmulator, rest: Rest) -> None:
    chat = feishu.people.make_group("a")
    _, message_id = await rest.card(chat, streaming=False)
    content = orjson.dumps(card("patched", streaming=False)).decode()
    await rest.ok("PATCH", f"im/v1/messages/{message_id}", {"content": content})
    assert feishu.view(chat)["messages"][0]["text"] == "patched"
    text = await rest.say(chat)
    for number in range(20):
        body = {"msg_type": "text", "content": orjson.dumps({"text": str(number)}).decode()}
        feishu.limits(False)
        await rest.ok("PUT", f"im/v1/messages/{text}", body)
    assert await rest.code("PUT", f"im/v1/messages/{text}", body) == 230072
    assert await rest.code("PATCH", f"im/v1/messages/{text}", {"content": content}) == 230001
    await rest.ok("DELETE", f"im/v1/messages/{text}")
    assert await rest.code("DELETE", f"im/v1/messages/{text}") == 230011
    assert len(feishu.view(chat)["messages"]) == 1


async def test_a_uuid_sends_once_for_an_hour(feishu: FeishuEmulator, rest: Rest, ticks: Ticks) -> None:
    chat = feishu.people.make_group("a")
    first = await rest.say(chat, "one", uuid="u")
    assert await rest.say(chat, "two", uuid="u") == first
    posts = feishu.transcript.of(FrameKind.POST)
    assert [frame.committed for frame in posts] == [True, False]
    ticks.at += 3601
    assert await rest.say(chat, "three", uuid="u") != first
    assert [message["text"] for message in feishu.view(chat)["messages"]] == ["one", "three"]
    body = {"receive_id": chat, "msg_type": "text", "content": '{"text":"x"}', "uuid": "u" * 51}
    assert await rest.code("POST", "im/v1/messages", body, receive_id_type="chat_id") == 99992402


@pytest.mark.parametrize(
    ("kind", "content", "code"),
    [
        ("text", "x" * 160_000, 230025),
        ("interactive", orjson.dumps(card("x" * 31_000)).decode(), 230025),
        ("text", '{"text":" "}', 230001),
        ("text", "no json", 230001),
        ("text", "[1]", 230001),
        ("nonsense", "{}", 230001),
        ("image", '{"image_key":"img_unknown"}', 230001),
        ("interactive", '{"schema":"1.0"}', 230099),
        ("interactive", '{"type":"card","data":{"card_id":"7"}}', 230099),
    ],
)
async def test_contents_that_are_refused(
    feishu: FeishuEmulator, rest: Rest, kind: str, content: str, code: int
) -> None:
    if content.startswith("x"):
        content = orjson.dumps({"text": content}).decode()
    chat = feishu.people.make_group("a")
    body = {"receive_id": chat, "msg_type": kind, "content": content}
    assert await rest.code("POST", "im/v1/messages", body, receive_id_type="chat_id") == code
    assert feishu.view(chat)["messages"] == []


async def test_cards_that_are_refused(feishu: FeishuEmulator, rest: Rest) -> None:
    two = card()
    two["body"]["elements"] *= 2
    for data, code in ((two, 300301), (card("x" * 40_000), 200860), ({"schema": "2.0"}, 200220)):
        body = {"type": "card_json", "data": orjson.dumps(data).decode()}
        assert await rest.code("POST", "cardkit/v1/cards", body) == code
    card_id, _ = await rest.card(feishu.people.make_group("a"))
    path = f"cardkit/v1/cards/{card_id}"
    assert await rest.code("PUT", f"{path}/elements/nope/content", {"content": "x", "sequence": 1}) == 300313
    assert await rest.code("PATCH", f"{path}/settings", {"settings": "{}", "sequence": 1}) == 300122
    body = {"content": "x", "sequence": 1}
    assert await rest.code("PUT", "cardkit/v1/cards/1/elements/text/content", body) == 200740


async def test_a_click_updates_the_card_twice(feishu: FeishuEmulator, rest: Rest) -> None:
    chat = feishu.people.make_group("a")
    _, message_id = await rest.card(chat, streaming=False)
    feishu.people.clicks(message_id, {"a": 1})
    [token] = feishu.world.click_tokens
    codes = [
        await rest.code(
            "POST", "interactive/v1/card/update", {"token": token, "card": card(str(number), streaming=False)}
        )
        for number in range(3)
    ]
    assert codes == [0, 0, 300040]
    assert feishu.view(chat)["messages"][0]["text"] == "1"


async def test_tokens_and_secrets(feishu: FeishuEmulator, rest: Rest) -> None:
    rest.token = "t-wrong"
    assert await rest.code("GET", "bot/v3/info") == 99991663
    wrong = {"app_id": feishu.app_id, "app_secret": "wrong"}
    assert await rest.code("POST", "auth/v3/tenant_access_token/internal", wrong) == 10014
    await rest.authorize()
    assert (await rest.call("GET", "bot/v3/info")).json()["bot"]["open_id"] == feishu.world.bot.open_id
    feishu.expire_tokens()
    assert await rest.code("GET", "bot/v3/info") == 99991663
    feishu.revoke_token()
    right = {"app_id": feishu.app_id, "app_secret": feishu.app_secret}
    assert await rest.code("POST", "auth/v3/tenant_access_token/internal", right) == 10014


async def test_faults_before_and_after_the_effect(feishu: FeishuEmulator, rest: Rest) -> None:
    import httpx

    chat = feishu.people.make_group("a")
    feishu.fault("error", method="message.create", status=400, description="230020 too often")
    body = {"receive_id": chat, "msg_type": "text", "content": '{"text":"x"}'}
    assert await rest.code("POST", "im/v1/messages", body, receive_id_type="chat_id") == 230020
    for kind, standing in (("close", 0), ("drop", 1)):
        feishu.fault(kind, method="message.create", chat=chat)
        with pytest.raises(httpx.HTTPError):
            await rest.call("POST", "im/v1/messages", body, receive_id_type="chat_id")
        assert len(feishu.view(chat)["messages"]) == standing
    assert [frame.status for frame in feishu.transcript.of(FrameKind.POST)] == [400, 0, 0]
    assert feishu.counters()["faults_struck"] == 3


async def test_places_that_are_not_there(feishu: FeishuEmulator, rest: Rest) -> None:
    body = {"receive_id": "oc_unknown", "msg_type": "text", "content": '{"text":"x"}'}
    assert await rest.code("POST", "im/v1/messages", body, receive_id_type="chat_id") == 230001
    assert await rest.code("POST", "im/v1/messages/om_unknown/reply", body) == 230011
    assert (await rest.call("GET", "im/v9/nothing")).status_code == 404
    said = feishu.people.says("hi")
    assert await rest.code("DELETE", f"im/v1/messages/{said.id}") == 230026
