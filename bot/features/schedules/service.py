"""Creation, changes and previews of schedules, shared by commands, tools and the API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from bot.domain import ChatKind, Sender
from bot.errors import ScheduleRefused
from bot.features.schedules.describe import ScheduleUnclear, describe_rule
from bot.features.schedules.parse_when import ParsedTime, TimeQuestion, read_phrase, resolve_phrase
from bot.features.schedules.proposal_store import Proposal, ProposalAction, add_proposal, carry_out_proposal
from bot.features.schedules.rule import Recurrence, parse_recurrence
from bot.features.schedules.run_store import trigger_schedule
from bot.features.schedules.schedule_store import (
    Schedule,
    ScheduleKind,
    ScheduleState,
    add_schedule,
    count_chat_schedules,
    delete_schedule,
    list_next_schedules,
    load_last_address,
    update_schedule,
)
from bot.features.schedules.scheduler import Scheduler
from bot.features.schedules.time_fields import TimeFields
from bot.features.schedules.upcoming import next_runs
from bot.features.schedules.wall_clock import find_zone
from bot.store.audit import Actor
from bot.store.chats import set_time_zone
from bot.store.connection import Connection
from bot.store.conversations import ConversationView
from bot.store.open_work import Reach
from bot.texts import Texts
from bot.turn import Turn
from bot.wiring import Core

SHOWN = 5
"""Number of runs in a preview."""
_INTERVAL_MINUTES = {"every_minutes": 1, "every_hours": 60}
"""Minutes of one step, by the refusal that offers intervals."""
LONGEST_TEXT = 4000
MOST_IN_CHAT = 50
_WORD_START = re.compile(r"(?<![A-Za-z0-9@:./-])[A-Za-z0-9@]|[\u4e00-\u9fff]")
_AROUND = " ,，.。:：、"
_PARTICLE = re.compile(r"^(?:to|that|about)\s+", re.IGNORECASE)
_DIGEST = re.compile(r"(?is)(?:digest\b|摘要(?=[\s:：]|$))\s*[:：]?\s*(?P<text>.*)")
_SAY = re.compile(
    r"(?:(?:say|send)\b|(?:说|发送)(?=[\s:：]))\s*[:：]?\s*(?P<text>.*)", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ScheduleTarget:
    """Destination chat of a schedule, with fields as of `Schedule`."""

    account: str
    platform: str
    chat: str
    chat_kind: ChatKind
    topic: str = ""
    conversation: int = 0
    made_in: int = 0


def place_of(turn: Turn) -> ScheduleTarget:
    """Return the destination for schedules created in a turn: its topic or private chat, or else the chat."""
    address = turn.address
    # On some platforms a message in a channel opens its own thread; the schedule belongs to the channel.
    topic = "" if address.topic == turn.messages[-1].message_id else address.topic
    inside = bool(topic) or address.chat_kind is ChatKind.PRIVATE
    return ScheduleTarget(
        address.account,
        turn.platform,
        address.chat,
        address.chat_kind,
        topic,
        turn.conversation if inside else 0,
        turn.conversation,
    )


@dataclass(frozen=True, slots=True)
class ScheduleDraft:
    """A requested schedule; `zone` is its time zone."""

    kind: ScheduleKind
    spoken: ParsedTime
    text: str
    zone: str


@dataclass(frozen=True, slots=True)
class SchedulePreview:
    """A schedule with its next runs (seconds since the epoch)."""

    schedule: Schedule
    firings: tuple[float, ...]


class ScheduleService:
    """Creates and changes schedules. Every method raises ScheduleRefused with the reason."""

    def __init__(self, core: Core, scheduler: Scheduler) -> None:
        self._core = core
        self._db = core.db
        self._record = core.record
        self._clock = core.clock
        self._scheduler = scheduler

    def collect_overview(self, connection: Connection, reach: Reach, _midnight: float) -> Mapping[str, Any]:
        """Return the next runs of the schedules within reach."""
        return {"schedules": list_next_schedules(connection, reach)}

    async def set_zone(self, account: str, chat: str, name: str) -> None:
        """Set the time zone of a chat."""
        await find_zone(name)
        await self._db.transact(set_time_zone, account, chat, name)

    async def target_for(self, view: ConversationView) -> ScheduleTarget:
        """Return the destination of a schedule that is created for a conversation outside a chat."""
        key, kind = view.key, ChatKind(view.chat_kind)
        address = await self._db.transact(load_last_address, view.id)
        topic = address.topic if address else key.topic
        own = 0 if kind is ChatKind.GROUP and not topic else view.id
        return ScheduleTarget(key.account, view.platform, key.chat, kind, topic, own, view.id)

    async def parse_request(
        self, text: str, account: str, chat: str, person: str = ""
    ) -> ScheduleDraft | None:
        """Parse a request into a time, an optional zone and a task; return None if it contains no time.

        The time is in the zone of the chat or of the person (`platform:id`). Raises ScheduleUnclear
        with a question if the request is ambiguous.
        """
        found, name = await self.parse_phrase(text, await self._core.zones.find_name(account, chat, person))
        if found is None:
            return None
        if message := _SAY.fullmatch(found.rest):
            return ScheduleDraft(ScheduleKind.MESSAGE, found, message["text"].strip(), name)
        if digest := _DIGEST.fullmatch(found.rest):
            return ScheduleDraft(ScheduleKind.DIGEST, found, digest["text"].strip(), name)
        bare = not found.rest and self._record.is_recorded(account, chat)
        return ScheduleDraft(
            ScheduleKind.DIGEST if bare else ScheduleKind.PROMPT, found, found.rest.strip(), name
        )

    async def parse_phrase(self, text: str, zone: str) -> tuple[ParsedTime | None, str]:
        """Parse the time at the start of a text. Return it with its time zone, which defaults to `zone`.

        Raises ScheduleUnclear with the question, if it can be meant in several ways.
        """
        phrase = read_phrase(text)
        if phrase is None:
            return None, zone
        name = phrase.value("zone") or zone
        of_zone = await find_zone(name)
        with self._offering_allowed_intervals():
            found = resolve_phrase(phrase, text, self._clock.now(), of_zone)
        if isinstance(found, TimeQuestion):
            raise ScheduleUnclear(found, of_zone)
        return found, name

    async def parse_time(self, text: str, zone: str) -> tuple[ParsedTime, str]:
        """Parse a time without further text. Return it with its time zone, which defaults to `zone`.

        Raises ScheduleUnclear with the question, if it can be meant in several ways.
        """
        found, name = await self.parse_phrase(text.strip(), zone)
        if found is None:
            raise ScheduleRefused("digest_when", nearest="")
        if found.rest:
            raise ScheduleRefused("phrase_part", words=found.words, rest=found.rest)
        return found, name

    async def find_time(self, request: str, zone: str) -> tuple[ParsedTime, str]:
        """Find the time anywhere in a request; the `rest` is everything else.

        Return it with its time zone, which defaults to `zone`. Raises ScheduleRefused if there is none,
        ScheduleUnclear with the question if it can be meant in several ways.
        """
        refusal, refused_at = ScheduleRefused("digest_when", nearest=""), -1
        for start in (word.start() for word in _WORD_START.finditer(request)):
            if refused_at >= 0 and any(char.isdigit() for char in request[refused_at:start]):
                break
            try:
                found, name = await self.parse_phrase(request[start:], zone)
            except ScheduleRefused as refused:
                # The first words may say what: "the daily report every weekday at 9".
                if refused.key != "phrase_part":
                    raise
                refusal, refused_at = refused, start if refused_at < 0 else refused_at
                continue
            if found is not None:
                rest = " ".join(filter(None, (request[:start].strip(_AROUND), found.rest.strip(_AROUND))))
                return replace(found, rest=_PARTICLE.sub("", rest)), name
        raise refusal

    async def resolve_fields(self, fields: TimeFields, zone: str, texts: Texts) -> tuple[ParsedTime, str]:
        """Resolve time fields. Return the time in words with its time zone, which defaults to `zone`.

        Raises ValueError with what is missing or doesn't fit.
        """
        name = fields.zone or zone
        of_zone = await find_zone(name)
        with self._offering_allowed_intervals():
            rule = fields.to_rule(self._clock.now(), of_zone)
        return ParsedTime(rule, describe_rule(texts, rule, of_zone), ""), name

    async def preview_time(self, text: str, zone: str) -> Sequence[float]:
        """Return the next runs of a time (s since the epoch). Raises ScheduleRefused if it is not allowed."""
        found, name = await self.parse_time(text, zone)
        of_zone = await find_zone(name)
        runs = next_runs(found.rule, of_zone, self._clock.now(), SHOWN)
        self._check_gaps(found.rule, of_zone, runs)
        return runs

    async def create(
        self,
        draft: ScheduleDraft,
        place: ScheduleTarget,
        maker: Sender,
        actor: Actor | None,
        state: ScheduleState,
    ) -> SchedulePreview:
        """Store a schedule, as a draft or active."""
        preview = await self._draft(draft, place, maker)
        schedule = replace(preview.schedule, state=state)
        if state is ScheduleState.ACTIVE:
            schedule = replace(schedule, next_at=preview.firings[0])
        number = await self._db.transact(add_schedule, schedule, actor, self._clock.now())
        self._scheduler.wake()
        return SchedulePreview(replace(schedule, id=number), preview.firings)

    async def propose_creation(
        self, made: Proposal, draft: ScheduleDraft, place: ScheduleTarget, maker: Sender
    ) -> SchedulePreview:
        """Store a schedule proposed by the agent as a draft, once per call."""
        return await self._propose(made, await self._draft(draft, place, maker))

    async def propose_change(
        self, made: Proposal, one: Schedule, draft: ScheduleDraft, maker: Sender
    ) -> SchedulePreview:
        """Store a changed schedule as a draft, which replaces the schedule when the person confirms it."""
        return await self._propose(made, await self._changed(replace(one, maker=maker), draft))

    async def propose_deletion(self, made: Proposal, one: Schedule, maker: Sender) -> None:
        """Store a proposal to delete a schedule, which takes effect when the person confirms it."""
        await self._propose(made, SchedulePreview(replace(one, maker=maker, text=""), ()))

    async def _propose(self, made: Proposal, preview: SchedulePreview) -> SchedulePreview:
        now = self._clock.now()
        draft = replace(preview.schedule, id=0, made_at=now, state=ScheduleState.DRAFT, next_at=0.0)
        number = await self._db.transact(add_proposal, made, draft, now)
        return SchedulePreview(replace(draft, id=number), preview.firings)

    async def carry_out(
        self, made: Proposal, draft: Schedule, one: Schedule, actor: Actor
    ) -> SchedulePreview | None:
        """Change or delete a schedule as proposed. Return the changed schedule, None for a deletion."""
        if made.action is ProposalAction.DELETE:
            changed = None
        else:
            spoken = ParsedTime(parse_recurrence(draft.rule), draft.spoken, "")
            changed = await self._changed(one, ScheduleDraft(one.kind, spoken, draft.text, draft.zone))
        after = changed.schedule if changed else None
        if not await self._db.transact(carry_out_proposal, draft.id, one, after, actor, self._clock.now()):
            raise ScheduleRefused("schedule_gone", number=one.id)
        self._scheduler.wake()
        return changed

    async def _draft(self, draft: ScheduleDraft, place: ScheduleTarget, maker: Sender) -> SchedulePreview:
        """Return a new schedule as a draft with its next runs."""
        self._check_text(draft, place.account, place.chat)
        if await self._db.transact(count_chat_schedules, place.account, place.chat) >= MOST_IN_CHAT:
            raise ScheduleRefused("schedule_too_many", limit=MOST_IN_CHAT)
        schedule = Schedule(
            id=0,
            kind=draft.kind,
            state=ScheduleState.DRAFT,
            text=draft.text,
            spoken=draft.spoken.words,
            rule=draft.spoken.rule.to_text,
            zone=draft.zone,
            account=place.account,
            platform=place.platform,
            chat=place.chat,
            chat_kind=place.chat_kind,
            topic=place.topic,
            conversation=place.conversation,
            made_in=place.made_in,
            maker=maker,
            made_at=self._clock.now(),
            next_at=0.0,
        )
        return await self._with_next_runs(schedule)

    async def preview(self, one: Schedule) -> SchedulePreview:
        """Return a schedule with its next runs, if any."""
        zone = await find_zone(one.zone)
        return SchedulePreview(
            one, tuple(next_runs(parse_recurrence(one.rule), zone, self._clock.now(), SHOWN))
        )

    async def describe(self, one: Schedule, texts: Texts) -> str:
        """Return a schedule's rule in words, or in stored form if it can't be read."""
        try:
            return describe_rule(texts, parse_recurrence(one.rule), await find_zone(one.zone))
        except ScheduleRefused:
            return one.rule

    async def activate(self, one: Schedule, actor: Actor) -> SchedulePreview:
        """Activate a draft or a paused schedule."""
        preview = await self._with_next_runs(one)
        active = replace(one, state=ScheduleState.ACTIVE, next_at=preview.firings[0])
        return SchedulePreview(await self._save_change(one, active, actor), preview.firings)

    async def pause(self, one: Schedule, actor: Actor) -> Schedule:
        """Pause a schedule."""
        return await self._save_change(one, replace(one, state=ScheduleState.PAUSED, next_at=0.0), actor)

    async def change(self, one: Schedule, draft: ScheduleDraft, actor: Actor) -> SchedulePreview:
        """Change a schedule's time or text; it stays active or paused."""
        changed = await self._changed(one, draft)
        return SchedulePreview(await self._save_change(one, changed.schedule, actor), changed.firings)

    async def _changed(self, one: Schedule, draft: ScheduleDraft) -> SchedulePreview:
        """Return a schedule with a new time or text, and its next runs."""
        # A digest of a chat that is no longer recorded can be moved. It is skipped until that changes.
        if draft.text != one.text or draft.kind is not ScheduleKind.DIGEST:
            self._check_text(draft, one.account, one.chat)
        rule = draft.spoken.rule.to_text
        new = replace(one, text=draft.text, spoken=draft.spoken.words, rule=rule, zone=draft.zone)
        preview = await self._with_next_runs(new)
        if one.state is not ScheduleState.PAUSED:
            new = replace(new, state=ScheduleState.ACTIVE, next_at=preview.firings[0])
        return SchedulePreview(new, preview.firings)

    async def trigger(self, one: Schedule, actor: Actor) -> None:
        """Run a schedule now, besides its usual times. Raises ScheduleRefused while a run is in progress."""
        now = self._clock.now()
        fire = await self._scheduler.build_manual_run(one, now)
        if fire.skip is not None:
            raise ScheduleRefused(f"schedule_skip_{fire.skip.value}", number=one.id, notice=fire.notice)
        opened = await self._db.transact(trigger_schedule, fire, actor, now)
        if opened is None:
            raise ScheduleRefused("schedule_busy", number=one.id)
        self._scheduler.dispatch_turns(opened)

    async def delete(self, one: Schedule, actor: Actor) -> None:
        """Delete a schedule with its runs."""
        if not await self._db.transact(delete_schedule, one.id, actor, self._clock.now()):
            raise ScheduleRefused("schedule_gone", number=one.id)

    def _check_text(self, draft: ScheduleDraft, account: str, chat: str) -> None:
        if draft.kind is ScheduleKind.DIGEST:
            if not self._record.is_recorded(account, chat):
                raise ScheduleRefused("schedule_no_record")
        elif not draft.text:
            raise ScheduleRefused("schedule_empty")
        if len(draft.text) > LONGEST_TEXT:
            raise ScheduleRefused("schedule_too_long", limit=LONGEST_TEXT)

    async def _save_change(self, before: Schedule, after: Schedule, actor: Actor) -> Schedule:
        if not await self._db.transact(update_schedule, before, after, actor, self._clock.now()):
            raise ScheduleRefused("schedule_gone", number=before.id)
        self._scheduler.wake()
        return after

    async def _with_next_runs(self, one: Schedule) -> SchedulePreview:
        preview = await self.preview(one)
        if not preview.firings:
            raise ScheduleRefused("time_past")
        self._check_gaps(parse_recurrence(one.rule), await find_zone(one.zone), preview.firings)
        return preview

    def _check_gaps(self, rule: Recurrence, zone: ZoneInfo, firings: Sequence[float]) -> None:
        """Raise ScheduleRefused if runs follow each other too soon."""
        # A frequent pattern may start after the next runs of the others.
        apart = [next_runs(Recurrence((of,)), zone, self._clock.now(), SHOWN) for of in rule.patterns]
        shortest = self._core.config.schedules.shortest_minutes
        gaps = [later - sooner for runs in (firings, *apart) for sooner, later in pairwise(runs)]
        if gaps and min(gaps) < shortest * 60:
            raise ScheduleRefused("schedule_too_often", minutes=shortest)

    @contextmanager
    def _offering_allowed_intervals(self) -> Iterator[None]:
        """Leave intervals that are shorter than allowed out of what a refusal offers."""
        try:
            yield
        except ScheduleRefused as refused:
            if refused.key not in _INTERVAL_MINUTES:
                raise
            shortest, unit = self._core.config.schedules.shortest_minutes, _INTERVAL_MINUTES[refused.key]
            offered = str(refused.values["fits"]).split(", ")
            if fits := ", ".join(count for count in offered if int(count) * unit >= shortest):
                raise ScheduleRefused(refused.key, **{**refused.values, "fits": fits}) from None
            raise ScheduleRefused("schedule_too_often", minutes=shortest) from None
