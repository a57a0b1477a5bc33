"""Buttons of the page over HTTP: whose click counts, and what whoever clicked in vain is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.shared.envelope import MessageEnvelope, parse_envelopes
from bot.app.features import load_features
from bot.server.api.service_texts import split_failure, split_request
from bot.texts import texts_for
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.contract.store.inbound_messages import ANN, BEN
from tests.harness.waiters import answers, until
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import World, world

CLOSED = "This question has already been answered"
FOREIGN = "Only the person who asked for this, or an admin, can decide"
FOUR_EYES = "Only an admin other than the person who asked for this can decide."


async def asked(client: httpx.AsyncClient, text: str = "clean up") -> dict[str, Any]:
    """Ask for something that has to be answered first; the turn that asks back, with its buttons for whoever
    may press them.
    """
    conversation = (await client.post("/api/conversations", json={})).json()["id"]
    path = f"/api/conversations/{conversation}/messages"
    turn = (await client.post(path, json={"text": text})).json()["turn"]
    return await seen(client, turn, lambda found: bool(found["approval"] or offered(found)))


async def seen(
    client: httpx.AsyncClient, turn: int, wanted: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """A turn once it is as wanted."""
    async with asyncio.timeout(20):
        while True:
            found: dict[str, Any] = (await client.get(f"/api/turns/{turn}")).json()
            if wanted(found):
                return found
            await asyncio.sleep(0.02)


def offered(turn: dict[str, Any]) -> list[str]:
    """The buttons of a turn."""
    return [choice for part in turn["parts"] for choice in part["choices"]]


async def press(client: httpx.AsyncClient, turn: dict[str, Any], choice: str, **more: str) -> httpx.Response:
    """Press a button."""
    part = turn["parts"][-1]["index"]
    path = f"/api/turns/{turn['id']}/parts/{part}/choice"
    return await client.post(path, json={"choice": choice, **more})


async def decided(client: httpx.AsyncClient, answer: httpx.Response) -> str:
    """What the agent says to a click."""
    assert answer.status_code == 202, answer.text
    found = await seen(client, answer.json()["turn"], lambda turn: bool(turn["finished_at"]))
    return str(found["parts"][0]["text"])


async def deeds(service: World) -> list[tuple[str, str]]:
    entries = await service.audited()
    return [(one["person"], one["detail"]) for one in entries if one["action"] == "approval"]


async def test_a_question_is_answered_by_a_button(tmp_path: Path) -> None:
    async with world(tmp_path, graph="interrupting") as service:
        turn = await asked(service.http, "a colour")
        assert offered(turn) == ["red", "blue"]
        assert turn["parts"][-1]["text"] == "Which one do you mean: a colour?"
        assert await decided(service.http, await press(service.http, turn, "blue")) == "You chose blue."
        shown = await seen(service.http, turn["id"], lambda found: "✓" in found["parts"][-1]["text"])
        assert shown["parts"][-1]["text"].endswith("✓ `blue` (answered by the owner)")
        assert offered(shown) == []


async def test_an_approval_is_decided_once(tmp_path: Path) -> None:
    async with world(tmp_path, graph="approving") as service:
        turn = await asked(service.http)
        assert (offered(turn)[0], offered(turn)[-1], len(offered(turn))) == ("approve", "reject", 4)
        first = await press(service.http, turn, "approve", event_id="click-1")
        assert await decided(service.http, first) == "Decided: approve."
        again = await press(service.http, turn, "approve", event_id="click-1")
        assert again.json() == first.json()
        for _ in range(2):
            other = await press(service.http, turn, "reject", event_id="click-2")
            assert other.status_code == 409
            assert other.json()["detail"].startswith(CLOSED)
        assert await deeds(service) == [("web:owner", "approve")]


async def test_of_two_clicks_at_once_one_counts(tmp_path: Path) -> None:
    async with world(tmp_path, graph="approving") as service:
        turn = await asked(service.http)
        both = await asyncio.gather(*(press(service.http, turn, word) for word in ("approve", "reject")))
        assert sorted(answer.status_code for answer in both) == [202, 409]
        assert next(one for one in both if one.status_code == 409).json()["detail"].startswith(CLOSED)
        assert len(await deeds(service)) == 1
        shown = await seen(service.http, turn["id"], lambda found: "✓" in found["parts"][-1]["text"])
        assert shown["parts"][-1]["text"].count("✓") == 1
        path = f"/api/conversations/{turn['conversation']}/messages"
        assert len((await service.http.get(path)).json()["turns"]) == 2, "nothing is said to the other"


async def test_a_question_that_was_left_has_no_buttons(tmp_path: Path) -> None:
    async with world(tmp_path, graph="approving") as service:
        turn = await asked(service.http)
        await service.say(turn["conversation"], "/new")
        assert offered(await seen(service.http, turn["id"], lambda found: not offered(found))) == []
        late = await press(service.http, turn, "approve")
        assert late.status_code == 409
        assert late.json()["detail"].startswith(CLOSED)
        shown = await seen(service.http, turn["id"], lambda found: "✗" in found["parts"][-1]["text"])
        assert shown["parts"][-1]["text"].endswith("✗ Closed without an answer")
        assert await deeds(service) == [("web:owner", "left")]
        path = f"/api/conversations/{turn['conversation']}/messages"
        for found in (path, "/api/turns"):
            turns = (await service.http.get(found)).json()["turns"]
            assert [one["messages"][0]["text"] for one in turns] == ["/new", "clean up"], "what was said"


async def test_who_watches_sees_that_a_question_was_left_and_nothing_else_of_it(tmp_path: Path) -> None:
    async with world(tmp_path, graph="approving") as service:
        turn = await asked(service.http)
        async with asyncio.timeout(20), service.events(turn["conversation"]) as events:
            _, before = await anext(events)
            assert [one["id"] for one in before["turns"]] == [turn["id"]]
            command = (await service.say(turn["conversation"], "/new"))["turn"]
            shown: dict[int, Any] = {}
            async for name, data in events:
                shown |= {data["id"]: data} if name == "turn" else {}
                said = shown.get(turn["id"], before["turns"][0])["parts"][-1]["text"]
                if "✗" in said and shown.get(command, {}).get("finished_at"):
                    break
        assert sorted(shown) == sorted([turn["id"], command])
        async with service.events(turn["conversation"]) as events:
            _, after = await anext(events)
        assert [one["id"] for one in after["turns"]] == sorted([turn["id"], command])


async def test_what_is_no_button_is_not_found(tmp_path: Path) -> None:
    async with world(tmp_path, graph="approving") as service:
        turn = await asked(service.http)
        assert (await press(service.http, turn, "maybe")).status_code == 404
        path = f"/api/turns/{turn['id']}/parts/7/choice"
        assert (await service.http.post(path, json={"choice": "approve"})).status_code == 404
        assert (await service.http.post(path, json={})).status_code == 422
        assert await deeds(service) == []


async def test_words_at_the_terminal_stay(tmp_path: Path) -> None:
    async with world(tmp_path, graph="interrupting") as service:
        conversation = await service.open("terminal", "tty")
        turn = await service.turn((await service.say(conversation, "a colour"))["turn"])
        assert offered(turn) == []
        assert turn["parts"][-1]["text"] == "Which one do you mean: a colour?\n- red\n- blue"
        assert (await press(service.http, turn, "red")).status_code == 404
        done = await service.turn((await service.say(conversation, "red"))["turn"])
        assert done["parts"][0]["text"] == "You chose red."


async def test_always_is_for_admins_to_say(tmp_path: Path) -> None:
    async with world(tmp_path, graph="approving", extra=CHATS) as service, signed_in(service) as ann:
        turn = await asked(ann)
        approve, here, reject = offered(turn)
        assert (approve, reject) == ("approve", "reject")
        of_owner = (await service.http.get(f"/api/turns/{turn['id']}")).json()
        _, _, always, _ = offered(of_owner)
        refused = await press(ann, turn, always)
        assert refused.status_code == 403
        assert refused.json()["detail"].startswith(FOREIGN)
        assert offered(await seen(ann, turn["id"], bool)) == offered(turn)
        assert (await decided(ann, await press(ann, turn, here))).startswith("Decided: ")
        shown = await seen(ann, turn["id"], lambda found: "✓" in found["parts"][-1]["text"])
        assert shown["parts"][-1]["text"].endswith(f"✓ `{here}` (answered by `Ann`)")
        assert await deeds(service) == [("telegram:7", here)]


async def test_an_admin_decides_for_another_and_answers_nothing_else(tmp_path: Path) -> None:
    async with (
        world(tmp_path, graph="approving", extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        turn = await asked(ann)
        assert (await decided(ben, await press(ben, turn, "reject"))) == "Decided: reject."
        assert await deeds(service) == [("telegram:8", "reject")]
        assert (await ann.get(f"/api/conversations/{turn['conversation']}")).json()["owner"] == "telegram:7"


def said(emulator: TelegramEmulator, chat: int) -> str:
    """What the question in a chat says now."""
    return answers(emulator, chat)[0].text


async def waiting(client: httpx.AsyncClient) -> dict[str, Any]:
    """The newest turn that offers answers."""
    async with asyncio.timeout(20):
        while True:
            turns = (await client.get("/api/turns", params={"limit": 5})).json()["turns"]
            if found := [turn for turn in turns if offered(turn)]:
                newest: dict[str, Any] = found[0]
                return newest
            await asyncio.sleep(0.02)


async def test_what_is_asked_on_another_platform_is_decided_here_too(tmp_path: Path) -> None:
    async with TelegramEmulator.serve() as emulator:
        account = f'{{platform: telegram, bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'
        extra = f"channels: {{tg: {account}}}\naccess: {{default: allow}}\n"
        async with world(tmp_path, graph="approving", extra=extra) as service, signed_in(service) as ann:
            emulator.people.says("clean up", user=7, name="Ann")
            mine = await waiting(ann)
            assert await decided(ann, await press(ann, mine, "approve")) == "Decided: approve."
            await until(lambda: len(answers(emulator, 7)) == 2, 20.0, lambda: "no answer")
            by_ann = "✓ approve (answered by Ann)"
            await until(lambda: said(emulator, 7).endswith(by_ann), 20.0, lambda: said(emulator, 7))
            assert answers(emulator, 7)[1].text == "Decided: approve."
            group = emulator.people.make_group("team")
            text = f"@{emulator.world.bot.username} clean up"
            emulator.people.says(text, user=8, name="Ben", chat=group)
            theirs = await waiting(service.http)
            assert (await press(ann, theirs, "approve")).status_code == 404
            done = await press(service.http, theirs, "reject")
            said_so = (await decided(service.http, done)).removeprefix("Decided: ").removesuffix(".")
            [envelope] = parse_envelopes(said_so)
            assert envelope == MessageEnvelope("web:owner", "reject", "owner", "owner", time=envelope.time)
            by_owner = "✗ Rejected by the owner"
            await until(lambda: said(emulator, group).endswith(by_owner), 20.0, lambda: said(emulator, group))
            assert await deeds(service) == [("web:owner", "reject"), ("telegram:7", "approve")]


async def test_where_others_decide_an_admin_does_not_decide_about_their_own_work(tmp_path: Path) -> None:
    extra = f"{CHATS}approvals: {{by: others}}\n"
    async with (
        world(tmp_path, graph="approving", extra=extra) as service,
        signed_in(service, ANN, "admin") as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        turn = await asked(ann)
        assert (offered(turn), turn["approval"]["may_decide"]) == ([], False)
        assert turn["approval"]["waits_for"] == "Waits for an admin other than you."
        refused = await press(ann, turn, "approve")
        assert (refused.status_code, refused.json()["detail"]) == (403, FOUR_EYES)
        of_ben = (await ben.get(f"/api/turns/{turn['id']}")).json()
        assert (offered(of_ben)[0], of_ben["approval"]["may_decide"]) == ("approve", True)
        assert of_ben["approval"]["waits_for"] == "Waits for an admin other than Ann."
        assert await decided(ben, await press(ben, turn, "approve")) == "Decided: approve."
        assert await deeds(service) == [("telegram:8", "approve")]


async def test_where_others_decide_a_request_of_a_private_chat_is_decided_here(tmp_path: Path) -> None:
    """By an admin who is no party of the chat, and in no way by who asked."""
    async with TelegramEmulator.serve() as emulator:
        account = f'{{platform: telegram, bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'
        extra = f"channels: {{tg: {account}}}\naccess: {{default: allow}}\napprovals: {{by: others}}\n"
        async with (
            world(tmp_path, graph="approving", extra=extra) as service,
            signed_in(service, ANN, "admin") as ann,
            signed_in(service, BEN, "admin") as ben,
        ):
            emulator.people.says("clean up", user=7, name="Ann")
            turn = await waiting(ben)
            emulator.people.says(f"/approve {turn['id']}", user=7, name="Ann")
            await until(lambda: len(answers(emulator, 7)) == 2, 20.0, lambda: "no answer")
            assert answers(emulator, 7)[1].text == FOUR_EYES
            refused = await press(ann, turn, "approve")
            assert (refused.status_code, refused.json()["detail"]) == (403, FOUR_EYES)
            assert await deeds(service) == []
            assert "approve" in await decided(ben, await press(ben, turn, "approve"))
            by_ben = "✓ approve (answered by Ben)"
            await until(lambda: said(emulator, 7).endswith(by_ben), 20.0, lambda: said(emulator, 7))
            assert await deeds(service) == [("telegram:8", "approve")]


async def test_who_cannot_see_a_question_cannot_answer_it(tmp_path: Path) -> None:
    async with (
        world(tmp_path, graph="interrupting", extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        turn = await asked(ann, "a colour")
        assert (await press(ben, turn, "red")).status_code == 404
        # Nor is somebody's own matter for the owner to answer.
        shown = (await service.http.get(f"/api/turns/{turn['id']}")).json()
        assert (shown["asks"], shown["approval"], offered(shown)) == (True, None, [])
        foreign = await press(service.http, turn, "red")
        assert foreign.status_code == 403
        assert "someone else" in foreign.json()["detail"]
        assert await decided(ann, await press(ann, turn, "red")) == "You chose red."


async def test_an_open_approval_is_described(tmp_path: Path) -> None:
    async with world(tmp_path, graph="approving") as service:
        turn = await asked(service.http)
        shown, [part] = turn["approval"], turn["parts"]
        assert shown.pop("expires_at") == pytest.approx(turn["finished_at"] + 24 * 3600, abs=5)
        assert shown == {
            "tool": "delete",
            "request": "```\npath: clean up\n```\n\nMay it?",
            "may_decide": True,
            "rejection": "reject",
            "waits_for": "Waits for you or an admin.",
        }
        assert (part["own"], part["text"].endswith("expires in 24 hours.")) == ("", True)
        zh = await service.http.get(f"/api/turns/{turn['id']}", headers={"accept-language": "zh"})
        assert zh.json()["approval"]["waits_for"] == "等待审批，以下任意一人可以处理：你、管理员。"
        await decided(service.http, await press(service.http, turn, "reject"))
        after = (await service.http.get(f"/api/turns/{turn['id']}")).json()
        assert (after["approval"], after["parts"][0]["own"]) == (None, None)


LISTED = """profiles:
- {person: "telegram:7", approvers: ["telegram:8", "telegram:usergroup:S0SRE", members]}
"""


async def test_the_approvers_of_a_profile_are_named(tmp_path: Path) -> None:
    async with (
        world(tmp_path, graph="approving", extra=CHATS + LISTED) as service,
        signed_in(service) as ann,
        signed_in(service, BEN),
    ):
        turn = await asked(ann)
        named = "Waits for Ben or somebody in the list of approvers or anyone with access."
        assert turn["approval"]["waits_for"] == named


@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize("own", ["", "Let me look.\n\n🔐 **Approval needed:** `ls`\n\n🔐 **待审批：** `ls`"])
def test_the_text_of_the_service_is_told_from_the_agents(locale: str, own: str) -> None:
    load_features()
    texts, before = texts_for(locale), f"{own}\n\n" if own else ""
    code = texts("approval_code", number=12, hours=24)
    request = f"{texts('approval_title', tool='`bash`')}\n\n```\nls\n```\n\n{code}"
    assert split_request(before + request) == (own, "```\nls\n```", "bash")
    # A long request may continue in another message, and a platform may have its own form of commands.
    rest = f"ls -l\n```\n\n{code}".replace("`/approve", "`/roe approve")
    assert split_request(rest) == ("", "ls -l\n```", "")
    failed = texts("failed", message="The model is away.\n\nIt will be back.")
    assert split_failure(before + failed) == (own, "The model is away.\n\nIt will be back.", "")
    assert split_failure("⚠️ This is an answer.") is None
