"""`/incident` and the buttons of cards, on Telegram's emulator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from bot.features.events import incident_store
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.free_ports import free_port
from tests.platforms.web.serving import World, world

from .apis import API_TOKEN, served, silences
from .receiving import buttons, config, seen, send, to_chat
from .samples import alert, alertmanager


async def test_an_incident_is_acknowledged_resolved_and_fires_again(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")

    async def press(label: str) -> None:
        card = emulator.view(chat)["messages"][0]
        emulator.people.presses(chat, card["message_id"], buttons(card)[label])

    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        (card,) = await seen(emulator, chat, lambda found: found and buttons(found[0]))
        assert list(buttons(card)) == ["Acknowledge", "Assign to me", "Ask the agent", "Resolve"]
        await press("Acknowledge")
        found = await seen(emulator, chat, lambda found: "Acknowledged by" in found[0]["text"])
        assert list(buttons(found[0])) == ["Assign to me", "Ask the agent", "Resolve", "Reopen"]
        assert await send(service, alertmanager("a firing 10", "b firing 20")) == 202
        await seen(emulator, chat, lambda found: "b is wrong" in found[0]["text"])
        assert "🟡" in emulator.view(chat)["messages"][0]["text"], (
            "who acknowledged it, does so for all of it"
        )
        await press("Resolve")
        found = await seen(emulator, chat, lambda found: "Resolved by" in found[0]["text"])
        assert list(buttons(found[0])) == ["Reopen"]
        assert await send(service, alertmanager("a firing 10", "b firing 20")) == 202
        assert await send(service, alertmanager("a firing 10", "b firing 20", "c firing 30")) == 202
        await seen(emulator, chat, lambda found: "is active" in found[0]["text"])
        assert (
            await send(service, alertmanager("a resolved 10 60", "b resolved 20 60", "c resolved 30 60"))
            == 202
        )
        found = await seen(emulator, chat, lambda found: "is resolved:" in found[0]["text"])
        assert buttons(found[0]) == {}


async def test_the_command(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat, other = emulator.people.make_group("ops"), emulator.people.make_group("other")

    async def ask(text: str, place: int) -> str:
        before = len(emulator.view(place)["messages"])
        emulator.people.says(text, chat=place)
        found = await seen(emulator, place, lambda found: len(found) > before + 1)
        return str(found[-1]["text"])

    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await ask("/incident", chat) == "This chat has no incidents."
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat, lambda found: "is active" in found[-1]["text"])
        assert await ask("/incident", chat) == "• 🔴 Incident 1 is active: service=db"
        assert (await ask("/incident 1 ack", chat)).startswith("Incident 1 is acknowledged")
        assert (await ask("/incident 1 ack", chat)) == "Nothing to change: incident 1 is acknowledged."
        audit = (await service.http.get("/api/audit")).json()["entries"]
        assert [(one["subject"], one["detail"]) for one in audit if one["action"] == "command"][-1] == (
            "/incident",
            "1 ack",
        )
        history = (await ask("/incident 1", chat)).splitlines()
        assert [line.partition(" UTC: ")[2] for line in history[-2:]] == [
            "triggered",
            "acknowledged (Person 1001)",
        ]
        for words in ("0", "1 close", "1 ack now", "all", "1 merge", "1 merge x"):
            assert (await ask(f"/incident {words}", chat)).startswith("Write")
        assert (await ask("/incident 7", chat)).startswith("This chat has no incident 7")
        assert (await ask("/incident 1 resolve", other)).startswith("This chat has no incident 1")


async def test_a_state_that_lasts_is_told_below_the_card(
    tmp_path: Path, emulator: TelegramEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incident_store, "LASTS", 0.1)
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat)
        assert await send(service, alertmanager("a resolved 10 60")) == 202
        card, news = await seen(emulator, chat, lambda found: len(found) == 2)
        first, second, *changes = news["text"].splitlines()
        assert (first, news["reply_to"]) == ("🟢 Incident 1 is resolved.", card["message_id"])
        assert second.startswith("service=db · duration: ")
        assert [line.partition(" UTC: ")[2] for line in changes if line] == ["triggered", "resolved"]
        assert await send(service, alertmanager("a firing 100")) == 202
        *_, news = await seen(emulator, chat, lambda found: len(found) == 3)
        assert news["text"] == "🔴 Incident 1 is active.\nservice=db"


async def test_words_below_a_card(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")

    async def reply(text: str) -> str:
        before = emulator.view(chat)["messages"]
        emulator.people.says(text, chat=chat, reply_to=before[0]["message_id"])
        found = await seen(emulator, chat, lambda found: len(found) > len(before) + 1)
        return str(found[-1]["text"])

    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat)
        assert await reply("Pause!") == "Incident 1 is paused."
        await seen(emulator, chat, lambda found: "Paused: only" in found[0]["text"])
        assert await reply("pause") == "Nothing to change: incident 1 is paused."
        assert await reply("resume") == "Incident 1 is no longer paused."
        assert await reply("complete") == "Incident 1 is resolved."
        assert await reply("reopen") == "Incident 1 is active."
        assert "pause the pump" in await reply("pause the pump"), "any other text is for the agent"
        emulator.people.says("@bot pause", chat=chat)
        found = await seen(emulator, chat, lambda found: "pause" in found[-1]["text"])
        assert "incident" not in found[-1]["text"].lower(), "elsewhere, too"


async def quoted(service: World) -> str:
    """What the newest message to the agent quotes."""
    newest = "SELECT quotations FROM inbound ORDER BY id DESC LIMIT 1"
    return str(
        await service.service.core.db.schema(
            lambda connection: connection.exec_driver_sql(newest).scalar_one()
        )
    )


async def test_the_agent_is_asked_about_an_incident(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        (card,) = await seen(emulator, chat, lambda found: found and buttons(found[0]))
        emulator.people.presses(chat, card["message_id"], buttons(card)["Ask the agent"])
        found = await seen(emulator, chat, lambda found: len(found) == 2)
        assert "What is wrong in incident 1" in found[1]["text"]
        assert "a is wrong" in await quoted(service), "the facts are material"
        emulator.people.says("/incident 1 summary", chat=chat)
        found = await seen(emulator, chat, lambda found: "timeline" in found[-1]["text"])
        assert re.search(r"\\n- \d\d-\d\d \d\d:\d\d", await quoted(service)), "so are the records"
        assert "skill incident-timeline" in found[-1]["text"]


async def test_incidents_are_assigned_and_merged(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        for group in ("db", "web"):
            assert await send(service, alertmanager("a firing 10", group=group)) == 202
        await seen(emulator, chat, lambda found: len(found) == 2 and buttons(found[1]))
        card = emulator.view(chat)["messages"][0]
        emulator.people.presses(chat, card["message_id"], buttons(card)["Assign to me"])
        await seen(emulator, chat, lambda found: "Assigned to Person 1001" in found[0]["text"])
        for words, answer in (
            ("2 merge 7", "This chat has no incident 7."),
            ("2 merge 1", "Incident 2 is now part of incident 1."),
            ("1 merge 2", "Incident 1 can't become part of incident 2"),
        ):
            emulator.people.says(f"/incident {words}", chat=chat)
            await seen(emulator, chat, lambda found, answer=answer: answer in found[-1]["text"])
        await seen(emulator, chat, lambda found: "Part of incident 1" in found[1]["text"])
        await seen(emulator, chat, lambda found: "2: " in found[0]["text"])


async def test_alerts_are_silenced(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat, kept = emulator.people.make_group("ops"), list[dict[str, Any]]()
    routes = Route("/api/v2/silences", silences(kept), methods=["POST"])

    async def ask(words: str, answer: str) -> None:
        emulator.people.says(f"/incident {words}", chat=chat)
        await seen(emulator, chat, lambda found: answer in found[-1]["text"])

    async with served(routes) as url:
        extra = config(emulator, to_chat(chat)).replace(
            "type: alertmanager,", f"type: alertmanager, api_url: '{url}', api_token: {API_TOKEN},"
        )
        async with world(tmp_path, extra=extra) as service:
            specs = ("a firing 10", "b firing 20", "c resolved 10 20")
            assert await send(service, alertmanager(*specs)) == 202
            (card,) = await seen(emulator, chat, lambda found: found and buttons(found[0]))
            emulator.people.presses(chat, card["message_id"], buttons(card)["Silence for 1 h"])
            await seen(emulator, chat, lambda found: "silenced for 60 min" in found[-1]["text"])
            (silence,) = kept
            assert [(one["name"], one["value"]) for one in silence["matchers"]] == [("severity", "critical")]
            assert silence["createdBy"] == "Person 1001"
            await ask("1 silence 99999999", "silenced for 10080 min")
            await ask("1", "UTC: silenced (Person 1001)")
            other = alert("a firing 10") | {"labels": {"alertname": "x"}}
            assert await send(service, alertmanager(other, "b firing 20", group="web")) == 202
            await ask("2 silence", "not silenced: the alerts have no label in common")
    assert len(kept) == 2


@pytest.mark.parametrize(
    ("api", "answer"),
    [
        ("", "An admin can set api_url for this source"),
        ("api_url: 'URL', api_token: wrong,", "not silenced: alertmanager responded with 401"),
        ("api_url: 'http://127.0.0.1:PORT',", "not silenced: alertmanager does not respond"),
    ],
)
async def test_alerts_that_cannot_be_silenced(
    tmp_path: Path, emulator: TelegramEmulator, api: str, answer: str
) -> None:
    chat = emulator.people.make_group("ops")
    async with served(Route("/api/v2/silences", silences([]), methods=["POST"])) as url:
        api = api.replace("URL", url).replace("PORT", str(free_port()))
        extra = config(emulator, to_chat(chat)).replace("type: alertmanager,", f"type: alertmanager, {api}")
        async with world(tmp_path, extra=extra) as service:
            assert await send(service, alertmanager("a firing 10")) == 202
            await seen(emulator, chat)
            emulator.people.says("/incident 1 silence", chat=chat)
            await seen(emulator, chat, lambda found: answer in found[-1]["text"])


async def test_a_storm_is_one_card(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    limited = config(emulator, to_chat(chat)) + "  storm_limit: 2\n"
    async with world(tmp_path, extra=limited) as service:
        for number in range(12):
            assert await send(service, alertmanager("a firing 10", group=f"g{number}")) == 202
        found = await seen(
            emulator, chat, lambda found: len(found) == 3 and "10 incidents" in found[2]["text"]
        )
        assert "alertname=a × 10" in found[2]["text"]
        assert "and 2 more" in found[2]["text"]
        for number in range(12):
            assert await send(service, alertmanager("a resolved 10 60", group=f"g{number}")) == 202
        found = await seen(emulator, chat, lambda found: "is resolved" in found[2]["text"])
        assert len(found) == 3
