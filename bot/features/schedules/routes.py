"""Routes to create, show and change schedules under the same rules as `/digest`, and to show a calendar."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel, Field

from bot.access import Permission, Role, Target
from bot.domain import ChatKind
from bot.errors import ScheduleRefused
from bot.features.schedules import schemas
from bot.features.schedules.describe import describe_refusal
from bot.features.schedules.parse_when import ParsedTime
from bot.features.schedules.rule import parse_recurrence
from bot.features.schedules.run_history import ScheduledRun, list_runs_between, list_scheduled_runs
from bot.features.schedules.schedule_store import (
    Schedule,
    ScheduleKind,
    ScheduleState,
    list_schedules,
    load_schedule,
)
from bot.features.schedules.service import LONGEST_TEXT, ScheduleDraft, SchedulePreview, ScheduleService
from bot.features.schedules.upcoming import upcoming_runs
from bot.server.api import local_chats
from bot.server.api.auth import By, Principal, accounts_with, audit_actor, check, may, open_to
from bot.server.api.dependencies import DEFAULT, ApiServices, Cursor, Limit, Services, parse_cursor
from bot.server.api.display_names import name_chat, texts_of
from bot.server.api.errors import not_found
from bot.store.conversations import ConversationView

# Account that determines the language of refusals.
PAGE = "web"
LONGEST = 100 * 24 * 3600.0
MOST_SCHEDULES, MOST_PAST = 200, 1000
Instant = Annotated[float, Query(ge=0, lt=2**40, description="Seconds since the epoch.")]
router = APIRouter(prefix="/api/schedules", tags=["schedules"])

Number = Annotated[int, Path(alias="schedule", ge=1, description="The schedule's number.")]
When = Annotated[
    str, Field(min_length=1, max_length=120, description="When to run: `weekdays 9:00`, `in 2 hours`, cron …")
]
Text = Annotated[str, Field(max_length=LONGEST_TEXT, description="Message or prompt; optional for a digest.")]
Words = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT, description="Message or prompt.")]
Zone = Annotated[str, Field(max_length=60, description='IANA time zone name; "": time zone of the chat.')]


class NewSchedule(BaseModel):
    """A schedule for a conversation's chat. Its results are posted there."""

    conversation: int = Field(ge=1, description="A conversation in the chat.")
    kind: ScheduleKind = ScheduleKind.PROMPT
    when: When
    text: Text = ""
    zone: Zone = ""


class ScheduleChange(BaseModel):
    """Fields to change; omitted fields keep their values."""

    when: When | None = None
    text: Words | None = None
    zone: Zone | None = None


class TimeRequest(BaseModel):
    """A time to preview."""

    when: When
    zone: Zone = "UTC"


@router.get("")
@open_to(Role.MEMBER)
async def get_schedules(
    services: Services, by: By, limit: Limit = DEFAULT, cursor: Cursor = ""
) -> schemas.Schedules:
    """List the schedules of all chats, newest first; members see only their own."""
    whose = visible_owners(services, by)
    found = await services.db.transact(list_schedules, parse_cursor(cursor), limit, *whose)
    next_cursor = str(found[-1].id) if len(found) == limit else None
    shown = [present_schedule(services, by, one) for one in visible_schedules(services, by, found)]
    return schemas.Schedules(schedules=shown, next=next_cursor)


@router.post("", status_code=201)
@open_to(Role.MEMBER)
async def create_schedule(body: NewSchedule, services: Services, by: By) -> schemas.PreviewedSchedule:
    """Create a schedule (409: the conversation is somebody else's private chat; 422: it can't be followed
    exactly; the response explains why).
    """
    of = await local_chats.visible_conversation(services, by, body.conversation)
    _check_place(services, by, of)
    place = await _schedules(services).target_for(of)
    maker = by.sender_on(place.platform)
    try:
        zone = body.zone or await services.core.zones.find_name(place.account, place.chat, by.person)
        time, zone = await _schedules(services).parse_time(body.when, zone)
        draft = ScheduleDraft(body.kind, time, body.text, zone)
        created = await _schedules(services).create(
            draft, place, maker, audit_actor(services, by), ScheduleState.ACTIVE
        )
    except ScheduleRefused as refused:
        raise _refusal(services, refused) from None
    return await _present_preview(services, by, created)


@router.post("/preview")
@open_to(Role.MEMBER)
async def preview_schedule(body: TimeRequest, services: Services) -> schemas.ScheduledRunList:
    """Preview the next five runs for a time without creating a schedule."""
    try:
        return schemas.ScheduledRunList(
            firings=list(await _schedules(services).preview_time(body.when, body.zone))
        )
    except ScheduleRefused as refused:
        raise _refusal(services, refused) from None


@router.get("/calendar")
@open_to(Role.MEMBER)
async def list_calendar(services: Services, by: By, begin: Instant, end: Instant) -> schemas.Calendar:
    """List scheduled runs from `begin` up to but not including `end` (at most 100 days later), ordered by
    time, and the newest 200 schedules. Members see only their own schedules.
    """
    if not begin < end <= begin + LONGEST:
        raise HTTPException(422, "end: must be later than begin, by at most 100 days")
    db, now = services.db, services.clock.now()
    person, accounts = visible_owners(services, by)
    found = await db.transact(list_schedules, limit=MOST_SCHEDULES, person=person, accounts=accounts)
    schedules = visible_schedules(services, by, found)
    hidden = {one.id for one in found} - {one.id for one in schedules}
    active = [one for one in schedules if one.state is ScheduleState.ACTIVE]
    past = await db.transact(list_runs_between, begin, end, MOST_PAST, person, accounts)
    # A run due exactly at `begin` is included.
    upcoming = await asyncio.to_thread(upcoming_runs, active, max(begin - 1, now), end)
    return schemas.Calendar(
        schedules=[present_schedule(services, by, one) for one in schedules],
        firings=[
            *(_present_past_run(one) for one in past if one.schedule not in hidden),
            *(_present_upcoming_run(schedule, at) for schedule, at in upcoming.firings),
        ],
        whole=upcoming.whole and len(past) < MOST_PAST and len(schedules) < MOST_SCHEDULES,
    )


@router.get("/{schedule}")
@open_to(Role.MEMBER)
async def get_schedule(schedule: Number, services: Services, by: By) -> schemas.PreviewedSchedule:
    """Return a schedule with its next runs."""
    found = await _load_schedule(services, by, schedule)
    active = found.state is ScheduleState.ACTIVE
    preview = await _schedules(services).preview(found) if active else SchedulePreview(found, ())
    return await _present_preview(services, by, preview)


@router.patch("/{schedule}")
@open_to(Role.MEMBER)
async def update_schedule(
    schedule: Number, body: ScheduleChange, services: Services, by: By
) -> schemas.PreviewedSchedule:
    """Change a schedule's time or text. Admins can't change the text of other admins and of owners (403),
    because a run works with the role of who created the schedule.
    """
    found = await _load_schedule(services, by, schedule)
    if body.text is not None:
        _check_text(services, by, found)
    schedules = _schedules(services)
    try:
        zone = body.zone or (
            found.zone
            if body.zone is None
            else await services.core.zones.find_name(found.account, found.chat)
        )
        time = ParsedTime(parse_recurrence(found.rule), found.spoken, "")
        if body.when is not None:
            time, zone = await schedules.parse_time(body.when, zone)
        draft = ScheduleDraft(found.kind, time, body.text or found.text, zone)
        changed = await _schedules(services).change(found, draft, audit_actor(services, by))
        return await _present_preview(services, by, changed)
    except ScheduleRefused as refused:
        raise _refusal(services, refused) from None


@router.post("/{schedule}/pause")
@open_to(Role.MEMBER)
async def pause_schedule(schedule: Number, services: Services, by: By) -> schemas.ScheduleInfo:
    """Pause a schedule (409: it is not active)."""
    found = await _load_schedule(services, by, schedule)
    if found.state is not ScheduleState.ACTIVE:
        raise _refusal(services, ScheduleRefused("digest_not_active", number=schedule), 409)
    paused = await _schedules(services).pause(found, audit_actor(services, by))
    return present_schedule(services, by, paused)


@router.post("/{schedule}/resume")
@open_to(Role.MEMBER)
async def resume_schedule(schedule: Number, services: Services, by: By) -> schemas.PreviewedSchedule:
    """Resume a paused schedule (409: it is not paused)."""
    found = await _load_schedule(services, by, schedule)
    if found.state is not ScheduleState.PAUSED:
        raise _refusal(services, ScheduleRefused("digest_not_paused", number=schedule), 409)
    try:
        resumed = await _schedules(services).activate(found, audit_actor(services, by))
        return await _present_preview(services, by, resumed)
    except ScheduleRefused as refused:
        raise _refusal(services, refused) from None


@router.post("/{schedule}/trigger", status_code=202)
@open_to(Role.MEMBER)
async def trigger_schedule(schedule: Number, services: Services, by: By) -> schemas.ScheduleInfo:
    """Run a schedule now, in addition to its usual times (409: an earlier run is in progress)."""
    found = await _load_schedule(services, by, schedule)
    try:
        await _schedules(services).trigger(found, audit_actor(services, by))
    except ScheduleRefused as refused:
        raise _refusal(services, refused, 409) from None
    return present_schedule(services, by, found)


@router.delete("/{schedule}", status_code=204)
@open_to(Role.MEMBER)
async def delete_schedule(schedule: Number, services: Services, by: By) -> None:
    """Delete a schedule and its runs."""
    await _schedules(services).delete(await _load_schedule(services, by, schedule), audit_actor(services, by))


@router.get("/{schedule}/runs")
@open_to(Role.MEMBER)
async def get_scheduled_runs(
    schedule: Number, services: Services, by: By, limit: Limit = DEFAULT, cursor: Cursor = ""
) -> schemas.Runs:
    """List a schedule's runs, newest first, with their results and whether all messages were delivered."""
    await _load_schedule(services, by, schedule)
    found = await services.db.transact(list_scheduled_runs, schedule, parse_cursor(cursor), limit)
    next_cursor = str(found[-1].id) if len(found) == limit else None
    return schemas.Runs(runs=found, next=next_cursor)


def visible_schedules(services: ApiServices, by: Principal, found: Sequence[Schedule]) -> list[Schedule]:
    """Return the schedules that the caller may access."""
    return [one for one in found if _may_open(services, by, one)]


def visible_owners(services: ApiServices, by: Principal) -> tuple[str, Collection[str]]:
    """Return the person ("" for everyone) and the accounts whose schedules the caller may see."""
    accounts = accounts_with(services, by, Permission.DIGESTS)
    return ("", ()) if accounts is None else (by.person, accounts)


def _may_open(services: ApiServices, by: Principal, one: Schedule) -> bool:
    return may(services, by, Permission.DIGESTS, Target(one.account, own=_is_own(by, one)))


async def _load_schedule(services: ApiServices, by: Principal, schedule: int) -> Schedule:
    found = await services.db.transact(load_schedule, schedule)
    visible = found is not None and _may_open(services, by, found)
    if found is None or found.state is ScheduleState.DRAFT or not visible:
        raise not_found("schedule")
    return found


def _check_place(services: ApiServices, by: Principal, of: ConversationView) -> None:
    """Check that the caller may post results in a conversation. Raises 409."""
    # A private chat and its agent thread are closed to admins, whoever the chat belongs to.
    rank = Role.ADMIN if of.chat_kind == ChatKind.PRIVATE else Role.STRANGER
    target = Target(of.key.account, own=by.owns_conversation(of), rank=rank)
    if not may(services, by, Permission.DIGESTS, target):
        raise HTTPException(409, local_chats.NOT_THEIRS)


def _check_text(services: ApiServices, by: Principal, one: Schedule) -> None:
    """Check that the caller may choose the text of a schedule, which its creator stands for. Raises 403."""
    rank = services.core.policy(one.account).role_of(one.origin)
    own = _is_own(by, one)
    check(services, by, Permission.DIGESTS, Target(one.account, own=own, rank=rank))


def _refusal(services: ApiServices, refused: ScheduleRefused, status: int = 422) -> HTTPException:
    return HTTPException(status, describe_refusal(services.core.account(PAGE).texts, refused))


def present_schedule(services: ApiServices, by: Principal, one: Schedule) -> schemas.ScheduleInfo:
    """Return a schedule in the API format, with the name of its chat."""
    name = one.maker.name if one.chat_kind is ChatKind.PRIVATE else one.chat_title
    place = name_chat(services, texts_of(services, by), one.account, one.platform, one.chat_kind, name)
    return schemas.ScheduleInfo.model_validate(one).model_copy(update={"place": place})


async def _present_preview(
    services: ApiServices, by: Principal, found: SchedulePreview
) -> schemas.PreviewedSchedule:
    words = await _schedules(services).describe(found.schedule, texts_of(services, by))
    return schemas.PreviewedSchedule(
        **present_schedule(services, by, found.schedule).model_dump(),
        firings=list(found.firings),
        words=words,
    )


def _present_past_run(one: ScheduledRun) -> schemas.CalendarFiring:
    return schemas.CalendarFiring(
        schedule=one.schedule, at=one.due_at, past=True, delivered=one.delivered, skipped=one.skipped
    )


def _present_upcoming_run(schedule: int, at: float) -> schemas.CalendarFiring:
    return schemas.CalendarFiring(schedule=schedule, at=at, past=False, delivered=False, skipped="")


def _schedules(services: ApiServices) -> ScheduleService:
    return services.core.part(ScheduleService)


def _is_own(by: Principal, one: Schedule) -> bool:
    return by.created(one.person, one.account, one.platform)
