"""Schedules over HTTP: made, previewed, changed, fired, and how their firings went."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.access import Role
from bot.app.http_server import api_services
from bot.features.schedules.schedule_store import load_schedule, update_schedule
from bot.features.schedules.scheduler import Scheduler
from bot.server.api.auth import AuthMethod, Principal, audit_actor
from tests.platforms.web.serving import World, world


async def conversation(service: World) -> int:
    """A conversation of the page."""
    found = (await service.http.post("/api/conversations", json={})).json()
    return int(found["id"])


async def made(service: World, **body: Any) -> dict[str, Any]:
    given = {
        "conversation": await conversation(service),
        "when": "daily 9:00",
        "text": "what is new?",
        **body,
    }
    answer = await service.http.post("/api/schedules", json=given)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def fired(service: World, schedule: int) -> dict[str, Any]:
    """Its newest firing, once that has ended."""
    while True:
        runs = (await service.http.get(f"/api/schedules/{schedule}/runs")).json()["runs"]
        if runs and runs[0]["state"] in {"done", "failed"}:
            found: dict[str, Any] = runs[0]
            return found
        await asyncio.sleep(0.02)


async def test_a_schedule_is_made_changed_and_deleted(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one = await made(service, zone="Asia/Tokyo")
        assert (one["kind"], one["state"], one["rule"], one["zone"]) == (
            "prompt",
            "active",
            "0 9 * * *",
            "Asia/Tokyo",
        )
        assert one["firings"][0] == one["next_at"]
        assert len(one["firings"]) == 5
        assert one["words"] == "every day at 09:00"
        path = f"/api/schedules/{one['id']}"
        listed = (await service.http.get("/api/schedules")).json()
        assert [(found["id"], found["text"]) for found in listed["schedules"]] == [
            (one["id"], "what is new?")
        ]
        changed = (await service.http.patch(path, json={"text": "what else?"})).json()
        assert (changed["text"], changed["when"], changed["next_at"]) == (
            "what else?",
            "daily 9:00",
            one["next_at"],
        )
        changed = (await service.http.patch(path, json={"when": "mondays 10:00", "zone": "UTC"})).json()
        assert (changed["rule"], changed["zone"], changed["text"]) == ("0 10 * * mon", "UTC", "what else?")
        assert (await service.http.post(f"{path}/resume")).status_code == 409
        paused = (await service.http.post(f"{path}/pause")).json()
        assert (paused["state"], paused["next_at"]) == ("paused", 0.0)
        assert (await service.http.post(f"{path}/pause")).status_code == 409
        assert (await service.http.post(f"{path}/resume")).json()["state"] == "active"
        assert (await service.http.delete(path)).status_code == 204
        assert (await service.http.get(path)).status_code == 404
        deeds = await service.audited()
        assert [deed["action"] for deed in deeds] == ["schedule deleted", *["schedule"] * 5]


async def test_a_firing_answers_in_the_conversation_and_says_how_it_went(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one = await made(service, text="what is new?")
        answer = await service.http.post(f"/api/schedules/{one['id']}/trigger")
        assert answer.status_code == 202
        firing = await fired(service, one["id"])
        assert (firing["delivered"], firing["problem"], firing["attempt"]) == (True, "", 1)
        turn = await service.turn(firing["turn"])
        assert "what is new?" in turn["parts"][0]["text"]
        again = (await service.http.get(f"/api/schedules/{one['id']}")).json()
        assert again["next_at"] == one["next_at"]


async def test_what_is_due_is_fired_by_the_service(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one = await made(service, when="in 1 minute", text="tea", kind="message")
        db = service.service.db
        found = await db.transact(load_schedule, one["id"])
        assert found is not None
        now = float(int(service.service.clock.now()))
        due = replace(found, rule=f"@{now:.0f}", next_at=now)
        assert await db.transact(
            update_schedule,
            found,
            due,
            audit_actor(api_services(service.service, port=0), Principal(Role.OWNER, AuthMethod.TOKEN)),
            now,
        )
        service.service.core.part(Scheduler).wake()
        firing = await fired(service, one["id"])
        assert firing["delivered"]
        assert (await service.http.get(f"/api/schedules/{one['id']}")).json()["state"] == "done"


async def test_a_preview_saves_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.post("/api/schedules/preview", json={"when": "0 9 * * mon"})
        assert answer.status_code == 200
        assert len(answer.json()["firings"]) == 5
        assert (await service.http.get("/api/schedules")).json()["schedules"] == []


async def test_a_preview_shows_no_runs_that_saving_refuses(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.post("/api/schedules/preview", json={"when": "every minute"})
        assert answer.status_code == 422
        assert "at least 5 min apart" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"when": "every 7 minutes"}, 422, "Use one of: 5, 6, 10, 12, 15, 20, 30, 60."),
        ({"when": "someday"}, 422, "I couldn't find a time"),
        ({"when": "daily 9:00 and more"}, 422, "but not what follows: `and more`"),
        ({"when": "weekdays at 5"}, 422, "- `every weekday at 17:00`"),
        ({"when": "every 1 minutes"}, 422, "at least 5 min apart"),
        ({"when": "0 9 * * * | * * 1 1 *"}, 422, "at least 5 min apart"),
        ({"zone": "Nowhere/Town"}, 422, "is not a known time zone"),
        ({"text": ""}, 422, "What should happen at that time?"),
        ({"text": "x" * 4001}, 422, "text"),
        ({"kind": "digestive"}, 422, "kind"),
        ({"conversation": 99}, 404, "Conversation"),
    ],
)
async def test_what_is_refused(tmp_path: Path, body: dict[str, Any], status: int, told: str) -> None:
    async with world(tmp_path) as service:
        given = {"conversation": await conversation(service), "when": "daily 9:00", "text": "hi", **body}
        answer = await service.http.post("/api/schedules", json=given)
        assert (answer.status_code, told in answer.text) == (status, True), answer.text
        assert (await service.http.get("/api/schedules")).json()["schedules"] == []


async def test_a_calendar_shows_what_was_and_what_will_be(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one = await made(service, when="daily 9:00", zone="UTC")
        other = await made(service, when="daily 10:00", zone="UTC")
        await service.http.post(f"/api/schedules/{other['id']}/pause")
        await service.http.post(f"/api/schedules/{one['id']}/trigger")
        await fired(service, one["id"])
        span = {"begin": one["made_at"] - 1, "end": one["firings"][2]}
        found = (await service.http.get("/api/schedules/calendar", params=span)).json()
        assert [schedule["id"] for schedule in found["schedules"]] == [other["id"], one["id"]]
        past, *ahead = found["firings"]
        assert (past["schedule"], past["past"], past["delivered"]) == (one["id"], True, True)
        assert [(coming["at"], coming["past"]) for coming in ahead] == [
            (one["firings"][0], False),
            (one["firings"][1], False),
        ]
        assert found["whole"]
        later = {"begin": one["firings"][1], "end": one["firings"][1] + 1}
        found = (await service.http.get("/api/schedules/calendar", params=later)).json()
        assert [coming["at"] for coming in found["firings"]] == [one["firings"][1]]


@pytest.mark.parametrize(
    "span",
    [
        {},
        {"begin": 5, "end": 5},
        {"begin": 9, "end": 5},
        {"begin": 0, "end": 8.7e6},
        {"begin": "nan", "end": 1},
    ],
)
async def test_a_calendar_needs_a_span(tmp_path: Path, span: dict[str, Any]) -> None:
    async with world(tmp_path) as service:
        assert (await service.http.get("/api/schedules/calendar", params=span)).status_code == 422
