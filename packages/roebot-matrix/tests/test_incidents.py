"""An incident in a room of a real homeserver: its card, the person on call, words below it, and its news."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
from test_end_to_end import PATIENCE, Chat, People, config, people, pytestmark, started, until

from tests.bot.features.events.samples import alertmanager

__all__ = ["people", "pytestmark"]
TOKEN = "t0ken-of-alerts"


def events(chat: Chat, person: str) -> str:
    """An event source with a route to a room, and somebody on call."""
    return f"""
events:
  sources: {{alerts: {{type: alertmanager, secrets: {TOKEN}}}}}
  routes: [{{account: matrix, chat: '{chat.room}', oncall: team}}]
oncall:
  people: {{Ben: 'matrix:{person}'}}
  schedules: {{team: {{rota: {{people: [Ben], start: 2026-01-05 09:00}}}}}}
"""


async def send(url: str, sample: str) -> None:
    request = alertmanager(sample)
    headers = {**request.headers, "authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(f"{url}/events/alerts", content=request.body, headers=headers)
    assert answer.status_code == 202, answer.text


async def test_an_incident_in_a_room(tmp_path: Path, people: People) -> None:
    chat = people.team()
    text = config(people, access="default: allow") + events(chat, people.ben.id)
    async with started(tmp_path, text) as service:
        url = (await service.ready()).url
        await until(lambda: chat.membership() == "join", PATIENCE, lambda: chat.membership())

        async def card(mark: str, count: int = 1) -> dict[str, Any]:
            """The card of the incident once it has a mark, and the chat has so many messages of the bot."""
            shown = list[dict[str, Any]]()

            def seen() -> bool:
                shown[:] = chat.messages()
                return len(shown) == count and shown[0]["body"].startswith(mark)

            await until(seen, PATIENCE, lambda: f"{chat.texts()}")
            return shown[0]

        await send(url, "a firing 10")
        first = await card("🔴")
        assert first["m.mentions"] == {"user_ids": [people.ben.id]}
        assert f'<a href="https://matrix.to/#/{people.ben.id}"' in first["formatted_body"]

        thread = {"rel_type": "m.thread", "event_id": first["id"], "is_falling_back": True}
        below = {"m.relates_to": {**thread, "m.in_reply_to": {"event_id": first["id"]}}}
        people.server.says(people.ben, chat.room, "complete", **below)
        done = await card("🟢", count=2)
        answer = chat.messages()[1]
        assert answer["m.relates_to"]["event_id"] == first["id"], "the answer is in the thread of the card"
        assert done["edits"] >= 1

        await send(url, "a firing 200")
        await card("🔴", count=2)
        await send(url, "a resolved 200 260")
        await card("🟢", count=2)
        await asyncio.sleep(60.0)
        await card("🟢", count=3)
        news = chat.messages()[2]
        assert news["m.relates_to"]["event_id"] == first["id"]
        assert "is resolved" in news["body"]
