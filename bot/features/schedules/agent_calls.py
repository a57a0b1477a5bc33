"""Answers to the agent's schedule calls. Changes wait for the person's confirmation.

The agent reads texts of anybody, so it can only propose: the preview's button runs `/digest ok NUMBER`, with
the permissions, audit event and answer of that command. An approval of the tool call would need rules of its
own and one more model call, and would block the conversation. Only the author confirms, and only the creator
changes a schedule, since it runs with the creator's rights. In scheduled runs, which could multiply, and for
apps there is no such tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from agent.shared.service_calls import SCHEDULE
from bot.access import Permission, Target
from bot.access.permissions import Caller, home_origin
from bot.commands.registry import LONGEST_NUMBER
from bot.dispatch.run.hooks import AnswerAddition, RoleOf, RunHooks, RunScope, ServiceCall, ServiceHandler
from bot.domain import Sender, person_of
from bot.errors import ScheduleRefused
from bot.features.schedules.describe import describe_refusal
from bot.features.schedules.parse_when import ParsedTime
from bot.features.schedules.previews import format_time
from bot.features.schedules.proposal_previews import MAX_PROPOSED, describe_decisions, render_proposals
from bot.features.schedules.proposal_store import Proposal, ProposalAction, list_proposals
from bot.features.schedules.rule import parse_recurrence
from bot.features.schedules.schedule_store import (
    Schedule,
    ScheduleKind,
    ScheduleState,
    list_chat_schedules,
    load_schedule,
)
from bot.features.schedules.service import ScheduleDraft, ScheduleService, place_of
from bot.features.schedules.time_fields import parse_time_fields
from bot.turn import Turn
from bot.wiring import Core

MAX_PROPOSALS = 5
"""Maximum number of proposals in a turn."""
MAX_LISTED, MAX_TEXT = 50, 200
"""Schedules in a list, and characters of a text in it."""


@dataclass(frozen=True, slots=True)
class SchedulePerson:
    """The person for whom the agent may propose schedules, namely the author of its turn."""

    sender: Sender
    person: str
    caller: Caller

    @classmethod
    def of_turn(cls, turn: Turn, core: Core, role_of: RoleOf) -> SchedulePerson | None:
        """Return the person, or None if a schedule or an app started the turn, or the person has no
        access.
        """
        # As in `turn_author`: an answer to a question belongs to the person who asked for the work.
        senders = turn.people
        if not turn.messages or turn.is_scheduled or any(sender.is_bot for sender in senders):
            return None
        sender = senders[-1]
        home = home_origin(turn.platform, turn.address.account, sender)
        caller = Caller(role_of(turn, sender), home)
        if not core.permissions.decide(caller, Permission.USE, Target(home.account)):
            return None
        return cls(sender, person_of(turn.platform, sender), caller)


class ScheduleHooks(RunHooks):
    """Answers a turn's schedule calls, unless no one could confirm a schedule."""

    def __init__(self, scope: RunScope) -> None:
        super().__init__(scope)
        self._turn, self._core, self._db = scope.turn, scope.core, scope.core.db
        self._schedules = scope.core.part(ScheduleService)
        self._texts = scope.texts
        self._person = SchedulePerson.of_turn(scope.turn, scope.core, scope.role_of)
        self._was_called = False

    @property
    def _who(self) -> SchedulePerson:
        assert self._person is not None
        return self._person

    def service_calls(self) -> Mapping[str, ServiceHandler]:
        return {} if self._person is None else {SCHEDULE: self._answer_call}

    async def notes(self) -> Sequence[str]:
        return [await describe_decisions(self._turn, self._db, self._texts)]

    async def add_to_answer(self, *, restarted: bool) -> Sequence[AnswerAddition]:
        """Return previews of the agent's proposals. Calls before a restart were answered by the previous
        process.
        """
        if not (restarted or self._was_called):
            return ()
        return await render_proposals(self._db, self._schedules, self._turn, self._texts)

    async def _answer_call(self, call: ServiceCall, _now: float) -> dict[str, Any]:
        """Return a call's result, as defined in `agent.shared.service_calls`."""
        self._was_called, interrupt, arguments = True, call.interrupt, call.arguments
        try:
            match arguments.get("action"):
                case "list":
                    return {"lines": await self._list_schedules()}
                case "create" | "change" | "delete" as action:
                    return await self._propose(interrupt, ProposalAction(action), arguments)
                case _:
                    return {"problem": "action"}
        except ValueError as error:
            return {"invalid": str(error)}
        except ScheduleRefused as refused:
            return {"refused": describe_refusal(self._texts, refused)}

    async def _list_schedules(self) -> list[str]:
        """Return the schedules that the person may see in this chat, one per line, as JSON."""
        address = self._turn.address
        found = await self._db.transact(list_chat_schedules, address.account, address.chat)
        visible = [one for one in found if self._is_visible(one)]
        return [await self._describe(one) for one in visible[-MAX_LISTED:]]

    def _is_visible(self, one: Schedule) -> bool:
        """Return whether one of the chat's schedules may be shown: a schedule of another thread may contain
        private text.
        """
        return one.topic in {"", place_of(self._turn).topic} or one.person == self._who.person

    async def _describe(self, one: Schedule) -> str:
        told = {
            "number": one.id,
            "when": await self._schedules.describe(one, self._texts),
            "zone": one.zone,
            "kind": _KIND_NAMES[one.kind],
            "text": one.text[:MAX_TEXT],
            "next": await format_time(self._texts, one.next_at, one.zone) if one.next_at else one.state.value,
            "own": one.person == self._who.person,
        }
        return orjson.dumps(told).decode()

    async def _propose(
        self, interrupt: str, action: ProposalAction, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        made = Proposal(self._turn.id, interrupt, self._turn.conversation, 0, action)
        known = [one for one, _ in await self._db.transact(list_proposals, self._turn.id)]
        if len(known) >= MAX_PROPOSALS and all(one.interrupt != interrupt for one in known):
            return {"problem": "proposals"}
        match action:
            case ProposalAction.CREATE:
                await self._propose_creation(made, arguments)
            case ProposalAction.CHANGE:
                await self._propose_change(made, arguments)
            case ProposalAction.DELETE:
                await self._propose_deletion(made, arguments)
        return {"previewed": action.value}

    async def _propose_creation(self, made: Proposal, arguments: Mapping[str, Any]) -> None:
        place = place_of(self._turn)
        zone = await self._core.zones.find_name(place.account, place.chat, self._who.person)
        text = self._read_task(arguments)
        if words := _read_text(arguments, "words"):
            spoken, name = await self._schedules.find_time(words[:MAX_PROPOSED], zone)
            text = spoken.rest or text
        else:
            fields = parse_time_fields(arguments)
            spoken, name = await self._schedules.resolve_fields(fields, zone, self._texts)
        kind = _KINDS.get(str(arguments.get("kind")), ScheduleKind.PROMPT)
        draft = ScheduleDraft(kind, spoken, text, name)
        await self._schedules.propose_creation(made, draft, place, self._who.sender)

    async def _propose_change(self, made: Proposal, arguments: Mapping[str, Any]) -> None:
        one = await self._load_target(arguments, made.action)
        spoken, zone = ParsedTime(parse_recurrence(one.rule), one.spoken, ""), one.zone
        if not (fields := parse_time_fields(arguments)).is_empty:
            spoken, zone = await self._schedules.resolve_fields(fields, zone, self._texts)
        draft = ScheduleDraft(one.kind, spoken, self._read_task(arguments) or one.text, zone)
        await self._schedules.propose_change(replace(made, target=one.id), one, draft, self._who.sender)

    async def _propose_deletion(self, made: Proposal, arguments: Mapping[str, Any]) -> None:
        one = await self._load_target(arguments, made.action)
        await self._schedules.propose_deletion(replace(made, target=one.id), one, self._who.sender)

    async def _load_target(self, arguments: Mapping[str, Any], action: ProposalAction) -> Schedule:
        """Return a schedule of this chat that the person may change or delete.

        A changed text runs with the rights of the schedule's creator, so nobody else may change it. Admins
        may delete other people's schedules, as with the command.
        """
        given = str(arguments.get("number") or 0)
        number = int(given) if given.isascii() and given.isdecimal() and len(given) <= LONGEST_NUMBER else 0
        one, address = await self._db.transact(load_schedule, number), self._turn.address
        is_here = one is not None and (one.account, one.chat) == (address.account, address.chat)
        if one is None or not is_here or one.state is ScheduleState.DRAFT or not self._is_visible(one):
            raise ScheduleRefused("schedule_gone", number=number)
        if one.person == self._who.person:
            return one
        if action is ProposalAction.CHANGE:
            raise ScheduleRefused("proposal_not_own", number=number)
        if not self._core.permissions.decide(self._who.caller, Permission.DIGESTS, Target(one.account)):
            raise ScheduleRefused("digest_foreign", number=number)
        return one

    def _read_task(self, arguments: Mapping[str, Any]) -> str:
        text = _read_text(arguments, "text")
        if len(text) > MAX_PROPOSED:
            raise ScheduleRefused("schedule_too_long", limit=MAX_PROPOSED)
        return text


_KIND_NAMES = {
    ScheduleKind.PROMPT: "task",
    ScheduleKind.MESSAGE: "message",
    ScheduleKind.DIGEST: "digest",
}
_KINDS = {name: kind for kind, name in _KIND_NAMES.items()}


def _read_text(arguments: Mapping[str, Any], name: str) -> str:
    """Return an argument as text; the model may omit it."""
    value = arguments.get(name)
    return value.strip() if isinstance(value, str) else ""
