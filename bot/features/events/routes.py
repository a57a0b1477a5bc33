"""HTTP routes of event sources."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel

from bot.access import Role
from bot.features.events.card_store import find_outcome
from bot.features.events.delivery_store import list_last_deliveries
from bot.features.events.receiver import EventReceiver, Source
from bot.features.events.sources.base import EventRequest, UnreadableEvent
from bot.server.api.auth import By, audit_actor, open_to
from bot.server.api.credential_attempts import Attempts
from bot.server.api.dependencies import Services
from bot.server.api.display_names import name_entries
from bot.server.api.errors import not_found
from bot.store.audit import AuditEvent, record_event
from bot.wiring import Core

DAY: Final = 86_400.0
CARD_SECONDS: Final = 10.0
"""Seconds for which a test event waits for its card."""
WRONG_CREDENTIAL: Final = "Wrong credentials. Check the secret of this event source."
RATE: Final = "6000"
"""Requests per minute that a sender may send (CloudEvents, http-webhook.md, WebHook-Allowed-Rate)."""
router = APIRouter(tags=["events"])


class EventSourceInfo(BaseModel):
    """An event source: its type, its path and its requests.

    `last` is the time of the last request of the last day (s), or None; `deliveries` is their number.
    `unauthorized` and `unreadable` are numbers of requests since startup. `clock_difference` is the sender's
    clock minus the service's (s), if the sender signs the time.
    """

    name: str
    type: str
    path: str
    has_route: bool
    last: float | None = None
    deliveries: int = 0
    unauthorized: int = 0
    unreadable: int = 0
    clock_difference: float | None = None


class EventSources(BaseModel):
    """All event sources."""

    sources: list[EventSourceInfo]


class EventTest(BaseModel):
    """What became of a test event. `unrouted`: no route takes it; `pending`: there is no card yet. `account`,
    `chat` and `place` (a name, "" if unknown) are those of its route; `reason` is that of a failed delivery.
    """

    card: Literal["posted", "failed", "pending", "unrouted"]
    account: str = ""
    chat: str = ""
    place: str = ""
    reason: str = ""


class ReplayedEvents(BaseModel):
    """The number of requests that were applied again."""

    requests: int


@router.get("/api/events/sources")
async def list_event_sources(services: Services) -> EventSources:
    """List the event sources, with the time of the last event and the number of events in the last day."""
    receiver = services.core.part(EventReceiver)
    last = await services.db.transact(list_last_deliveries, services.clock.now() - DAY)
    config = services.core.config.events
    sources = [
        EventSourceInfo(
            name=name,
            type=source.kind.name,
            path=f"/events/{name}",
            has_route=bool(config.routes_of(name)),
            last=last[name][0] if name in last else None,
            deliveries=last[name][1] if name in last else 0,
            unauthorized=receiver.activity_of(name).outcomes["unauthorized"],
            unreadable=receiver.activity_of(name).outcomes["unreadable"],
            clock_difference=receiver.activity_of(name).clock_difference,
        )
        for name, source in sorted(receiver.sources.items())
    ]
    return EventSources(sources=sources)


@router.post("/api/events/sources/{source}/replay")
async def replay_events(
    source: str, services: Services, by: By, since: Annotated[float, Query(ge=0, allow_inf_nan=False)] = 0.0
) -> ReplayedEvents:
    """Apply the stored events of a source since a time (s) again, by the current routes (404: unknown
    source).
    """
    known = _find_source(services.core, source)
    count = await services.core.part(EventReceiver).replay(known, since)
    event = AuditEvent("events replayed", source, str(count))
    await services.db.transact(record_event, audit_actor(services, by), event, services.clock.now())
    return ReplayedEvents(requests=count)


@router.post("/api/events/sources/{source}/test")
async def send_test_event(source: str, services: Services, by: By) -> EventTest:
    """Receive a test event in the format of a source, wait for its card, and end it (404: unknown
    source).
    """
    known, receiver = _find_source(services.core, source), services.core.part(EventReceiver)
    now = services.clock.now()
    await services.db.transact(
        record_event, audit_actor(services, by), AuditEvent("events tested", source), now
    )
    event = known.kind.sample(now, None)
    try:
        parts = [part for one in receiver.read(known, event) for part in one.parts]
        await receiver.record(known, event)
    except UnreadableEvent as error:
        raise HTTPException(422, str(error)) from None
    if not parts:
        return EventTest(card="unrouted")
    route = parts[0][1]
    where = route.account, route.chat, route.topic or ""
    while (outcome := await services.db.transact(find_outcome, *where, now)) is None:
        if services.clock.now() > now + CARD_SECONDS:
            break
        await services.clock.sleep(0.2)
    # Some types tell whole seconds.
    await receiver.record(known, known.kind.sample(now, max(services.clock.now(), now + 1.0)))
    entry = f"{route.account}:{route.chat}"
    return EventTest(
        card="pending" if outcome is None else "failed" if outcome else "posted",
        account=route.account,
        chat=route.chat,
        place=(await name_entries(services, [entry])).get(entry, ""),
        reason=outcome or "",
    )


@router.post("/events/{source}", status_code=202)
@router.put("/events/{source}", status_code=202, include_in_schema=False)
@open_to(Role.BLOCKED)
async def receive_event(source: str, request: Request, services: Services, attempts: Attempts) -> Response:
    """Store a request of an event source (401: wrong credentials; 404: unknown source; 422: the body is not
    valid for the type of the source; 503: the database is unavailable, and the source should retry).
    """
    receiver, known = services.core.part(EventReceiver), _find_source(services.core, source)
    headers = {name.lower(): value for name, value in request.headers.items()}
    delivery = EventRequest(headers, await request.body())

    async def is_authentic() -> bool | None:
        return receiver.authenticate(known, delivery) or None

    # A sender must not lose events because others at its address send wrong credentials.
    if await attempts.check_signature(request.scope, is_authentic, detail=f"event source {source}") is None:
        raise HTTPException(401, WRONG_CREDENTIAL)
    try:
        await receiver.record(known, delivery)
    except UnreadableEvent as error:
        raise HTTPException(422, str(error)) from None
    return Response(status_code=202)


@router.options("/events/{source}")
@open_to(Role.BLOCKED)
async def answer_handshake(source: str, request: Request, services: Services) -> Response:
    """Allow a sender of CloudEvents to send events (404: unknown source; 405: another type of source)."""
    origin = request.headers.get("webhook-request-origin", "")
    if _find_source(services.core, source).kind.name != "cloudevents" or not origin:
        raise HTTPException(405, "This event source does not support the handshake.", {"allow": "POST, PUT"})
    allowed = {"allow": "POST, PUT", "webhook-allowed-origin": origin, "webhook-allowed-rate": RATE}
    return Response(headers=allowed)


def _find_source(core: Core, name: str) -> Source:
    """Return an event source. Raises HTTPException (404)."""
    found = core.part(EventReceiver).sources.get(name)
    if found is None:
        raise not_found("event source")
    return found
