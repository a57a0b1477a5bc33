"""Requests of event sources through the service's port, up to the card in the chat."""

from __future__ import annotations

import asyncio
import hmac
import json
from pathlib import Path

from bot.features.events.incident_store import find_next_due
from bot.features.events.incidents import IncidentCards
from bot.features.events.sources.base import EventRequest
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.platforms.web.serving import world

from .receiving import OLD, SECRET, TOKEN, config, seen, send, to_chat
from .samples import BATCH, STRUCTURED, alertmanager, cloud_event, post, run


async def test_an_alert_becomes_a_card_that_changes(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10", "b firing 20")) == 202
        (card,) = await seen(emulator, chat)
        assert card["text"] == (
            "🔴 Incident 1 is active: service=db\ncritical · 2 active · from alerts\n\n"
            "• 🔴 a is wrong\n• 🔴 b is wrong\n\nSource: http://prometheus.example/graph"
        )
        for _ in range(2):
            assert await send(service, alertmanager("a firing 10", "b resolved 20 60")) == 202
            assert await send(service, alertmanager("a resolved 10 90", "b resolved 20 60")) == 202
        (card,) = await seen(emulator, chat, lambda found: "is resolved" in found[0]["text"])
        assert await send(service, alertmanager("c firing 100")) == 202
        (card,) = await seen(emulator, chat, lambda found: "is active" in found[0]["text"])


async def test_what_is_no_request_of_a_source_is_refused(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        good = alertmanager("a firing 10")
        assert await send(service, good, "nobody") == 404
        assert await send(service, good, token="wrong") == 401
        odd = good.body.replace(b"firing", b"odd")
        for body in (b"", b"{}", b"[]", b"[" * 100_000, b'{"version": "3"}', odd):
            assert await send(service, EventRequest(good.headers, body)) == 422, body[:20]
        answer = await service.http.post(
            "/events/alerts", content=b"{}", headers={"authorization": f"Bearer {TOKEN}"}
        )
        assert answer.json()["detail"].startswith("version: expected")
        assert await send(service, EventRequest(good.headers, b"x" * 2_100_000)) == 413
        for method in ("GET", "DELETE"):
            assert (await service.http.request(method, "/events/alerts")).status_code in (404, 405)


def signed(delivery: EventRequest, secret: str) -> EventRequest:
    digest = hmac.digest(secret.encode(), delivery.body, "sha256").hex()
    return EventRequest({**delivery.headers, "x-hub-signature-256": f"sha256={digest}"}, delivery.body)


async def test_a_signature_covers_the_bytes_that_arrived(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        failed = run("failure", 10, branch="größe")
        again = EventRequest(failed.headers, json.dumps(json.loads(failed.body)).encode())
        assert again.body != failed.body
        other = EventRequest(signed(failed, SECRET).headers, again.body)
        for forged in (failed, signed(failed, "wrong"), other):
            assert await send(service, forged, "ci") == 401
        assert await send(service, signed(failed, OLD), "ci") == 202
        assert "größe" in (await seen(emulator, chat))[0]["text"]
        assert await send(service, signed(run("success", 90, branch="größe"), SECRET), "ci") == 202
        assert await send(service, signed(failed, SECRET), "ci") == 202, "a redelivery by hand"
        await seen(emulator, chat, lambda found: "is resolved" in found[0]["text"])


async def test_events_that_arrive_while_the_service_restarts_are_shown_once(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        await seen(emulator, chat)
        assert await send(service, alertmanager("a resolved 10 60")) == 202
    async with world(tmp_path, extra=config(emulator, to_chat(chat))):
        found = await seen(emulator, chat, lambda found: "is resolved" in found[0]["text"])
        assert len(found) == 1


async def test_a_known_event_in_a_batch_is_known(tmp_path: Path, emulator: TelegramEmulator) -> None:
    """Events without a time count in the order of arrival, so a repeated one must not count again."""
    chat = emulator.people.make_group("ops")
    down, up = cloud_event("down", 1), cloud_event("up", 9)
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        assert await send(service, post(down, STRUCTURED), "checks") == 202
        assert await send(service, post([down, up], BATCH), "checks") == 202
        await seen(emulator, chat, lambda found: found and "is resolved" in found[0]["text"])
        assert await send(service, post([down, cloud_event("down", 5, "web")], BATCH), "checks") == 202
        found = await seen(emulator, chat, lambda found: len(found) == 2)
        assert ["is resolved" in one["text"] for one in found] == [True, False]


async def test_a_chat_of_an_account_that_is_gone_holds_nobody_up(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat, ", match: {service: db}"))) as service:
        db = service.service.core.db
        assert await send(service, alertmanager("a firing 10")) == 202
        await seen(emulator, chat)
        lost = "UPDATE incidents SET account = 'gone', outdated = 1, settle_at = 0"
        await db.schema(lambda connection: connection.exec_driver_sql(lost))
        service.service.core.part(IncidentCards).wake()
        async with asyncio.timeout(20):
            while await db.transact(find_next_due) is not None:
                await asyncio.sleep(0.02)


async def test_a_test_event_says_where_its_card_is(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    routes = (
        to_chat(chat, ", source: alerts"),
        to_chat(-7, ", source: ci"),
        to_chat(chat, ", source: checks, match: {x: y}"),
    )
    async with world(tmp_path, extra=config(emulator, *routes)) as service:
        await service.service.core.chat_titles.note_title("telegram", str(chat), "Operations")

        async def tried(source: str) -> dict[str, str]:
            answer = await service.http.post(f"/api/events/sources/{source}/test")
            assert answer.status_code == 200, answer.text
            found: dict[str, str] = answer.json()
            return found

        here = {"account": "telegram", "chat": str(chat), "place": "Operations"}
        posted = {"card": "posted", **here, "reason": ""}
        for _ in range(2):
            assert await tried("alerts") == posted
            await seen(emulator, chat, lambda found: "is resolved" in found[0]["text"])
        lost = {"card": "failed", "account": "telegram", "chat": "-7", "place": "", "reason": "not_found"}
        assert await tried("ci") == lost
        assert (await tried("checks"))["card"] == "unrouted"
        assert (await service.http.post("/api/events/sources/nobody/test")).status_code == 404
        tested = [one["subject"] for one in await service.audited() if one["action"] == "events tested"]
        assert tested == ["checks", "ci", "alerts", "alerts"]
        assert (await service.http.get("/api/overview")).json()["counts"]["incidents"] == 0


async def test_senders_of_cloudevents_ask_first(tmp_path: Path, emulator: TelegramEmulator) -> None:
    """Webhooks of CloudEvents (http-webhook.md, section 4); Grafana may use PUT."""
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat))) as service:
        asked = {"webhook-request-origin": "events.example", "webhook-request-rate": "120"}
        answer = await service.http.options("/events/checks", headers=asked)
        assert (answer.status_code, answer.headers["webhook-allowed-origin"]) == (200, "events.example")
        assert answer.headers["webhook-allowed-rate"].isdecimal()
        for path, status in (("alerts", 405), ("nobody", 404)):
            assert (await service.http.options(f"/events/{path}", headers=asked)).status_code == status
        assert (await service.http.options("/events/checks")).status_code == 405
        request = alertmanager("a firing 10")
        headers = {**request.headers, "authorization": f"Bearer {TOKEN}"}
        put = await service.http.put("/events/alerts", content=request.body, headers=headers)
        assert put.status_code == 202
        await seen(emulator, chat)


async def test_metrics_by_source_and_route(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, to_chat(chat, ", match: {service: db}"))) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
        assert await send(service, alertmanager("a firing 10")) == 202
        assert await send(service, alertmanager("a firing 10"), token="wrong") == 401
        assert await send(service, post({"version": "3"})) == 422
        lines = (await service.http.get("/metrics")).text.splitlines()
        shown = {line for line in lines if line.startswith(("roebot_event", "roebot_incidents"))}
        assert {
            'roebot_event_requests_total{outcome="accepted",source="alerts"} 1.0',
            'roebot_event_requests_total{outcome="repeated",source="alerts"} 1.0',
            'roebot_event_requests_total{outcome="unauthorized",source="alerts"} 1.0',
            'roebot_event_requests_total{outcome="unreadable",source="alerts"} 1.0',
            f'roebot_events_routed_total{{account="telegram",chat="{chat}",source="alerts"}} 1.0',
            'roebot_incidents{state="firing"} 1.0',
        } <= shown
        (source, *_) = (await service.http.get("/api/events/sources")).json()["sources"]
        assert (source["unauthorized"], source["unreadable"], source["clock_difference"]) == (1, 1, None)
