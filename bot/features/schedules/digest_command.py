"""`/digest`: create, show and change scheduled runs and announcements in a chat."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from zoneinfo import ZoneInfo

from bot.access import Permission, Target
from bot.commands.escaping import quoted
from bot.commands.registry import (
    Button,
    Command,
    Invocation,
    Result,
    nearest,
    nearest_line,
    number_in,
    text_after,
)
from bot.domain import ChatKind, MentionKind
from bot.errors import ScheduleRefused
from bot.features.schedules.describe import ScheduleUnclear, describe_refusal, describe_rule
from bot.features.schedules.parse_when import TimeQuestion, parse_when
from bot.features.schedules.previews import (
    LONGEST_SHOWN,
    describe_draft,
    format_time,
    list_times,
    shorten_text,
)
from bot.features.schedules.proposal_store import (
    Proposal,
    ProposalAction,
    ProposalDecision,
    discard_proposal,
    find_proposal,
)
from bot.features.schedules.run_history import ScheduledRun, list_scheduled_runs
from bot.features.schedules.schedule_store import Schedule, ScheduleState, list_chat_schedules, load_schedule
from bot.features.schedules.service import SchedulePreview, ScheduleService, ScheduleTarget, place_of
from bot.store.audit import AuditEvent, author_of, record_event
from bot.store.chats import load_chat_kind
from bot.texts import Texts

_TO_CHAT = re.compile(r"to\s+(?P<chat>\S+)\s+(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
RUNS_SHOWN = 5
_UTC = ZoneInfo("UTC")
# "next week" and "twice a day" can also start a sentence for the agent.
_VAGUE = frozenset({"unclear_next", "unclear_times_per"})


def is_schedule(rest: str) -> bool:
    """Return whether the text after the command name is a verb or starts with a time."""
    if match := _TO_CHAT.fullmatch(rest):
        rest = match["rest"]
    words = rest.lower().split()
    if not words or words[0] == "zone":
        return len(words) < 2 or (len(words) == 2 and "/" in words[1])
    if words[0] in _VERBS and len(words) == 2 and number_in(words[1:]):
        return True
    if words[0] in _DECISIONS and len(words) > 2 and _numbers_in(words[1:]):
        return True
    try:
        found = parse_when(rest, 0.0, _UTC)
    except ScheduleRefused as refused:
        return refused.key not in _VAGUE
    return found.is_certain if isinstance(found, TimeQuestion) else found is not None


async def digest(call: Invocation) -> Result:
    """List the schedules, create one, or act on one of them."""
    try:
        said = await _run_verb(call)
        return said if isinstance(said, Result) else Result(said)
    except ScheduleRefused as refused:
        return Result(_explain(call, refused), buttons=_option_buttons(call, refused))


def _explain(call: Invocation, refused: ScheduleRefused) -> str:
    """Return why there is no schedule; for an unclear time, the question and how to answer it."""
    texts = call.texts
    asked = describe_refusal(texts, refused)
    if not isinstance(refused, ScheduleUnclear) or not refused.question.options:
        return asked
    first = describe_rule(texts, refused.question.options[0], refused.zone)
    rest, zone = refused.question.rest, refused.question.zone
    text = " …" if not rest or len(rest) > LONGEST_SHOWN else f": {rest}".replace("`", "'")
    example = f"{_place_named(call)}{first}{_zone_named(zone)}{text}"
    return "\n".join([asked, "", texts("digest_unclear", example=example)])


def _option_buttons(call: Invocation, refused: ScheduleRefused) -> tuple[Button, ...]:
    """Return a button for each possible schedule of an unclear time, which resends the request with that
    choice.
    """
    if not isinstance(refused, ScheduleUnclear):
        return ()
    question, place = refused.question, _place_named(call)
    zone = _zone_named(question.zone)
    rest = f": {question.rest}" if question.rest else ""
    options = [describe_rule(call.texts, one, refused.zone) for one in question.options]
    return tuple(Button(one, f"digest {place}{one}{zone}{rest}") for one in options)


def _place_named(call: Invocation) -> str:
    """Return the beginning of a request that specifies another chat, or "" for other requests."""
    target = _TO_CHAT.fullmatch(_request_text(call))
    return f"to {target['chat']} " if target else ""


def _zone_named(zone: str) -> str:
    return f" {zone}" if zone else ""


async def _run_verb(call: Invocation) -> str | Result:
    if not call.words:
        return await _list_schedules(call)
    verb = call.words[0].lower()
    if verb == "zone":
        return await _zone(call)
    if verb in _VERBS and number_in(call.words[1:]) and len(call.words) == 2:
        return await _VERBS[verb](call, await _load_permitted(call, verb, number_in(call.words[1:])))
    if verb in _DECISIONS and len(call.words) > 2 and (numbers := _numbers_in(call.words[1:])):
        return "\n".join([await _decide(call, verb, number) for number in numbers])
    if verb in _VERBS and len(call.words) <= 2:
        raise ScheduleRefused("digest_number", verb=verb)
    return await _draft_schedule(call)


def _numbers_in(words: Sequence[str]) -> list[int]:
    """Return the distinct numbers in the words, or an empty list if a word is not a number."""
    numbers = [number_in([word]) for word in words]
    return list(dict.fromkeys(numbers)) if all(numbers) else []


async def _decide(call: Invocation, verb: str, number: int) -> str:
    """Apply the verb to one of several schedules. Return the result as a list item."""
    try:
        text = await _VERBS[verb](call, await _load_permitted(call, verb, number))
    except ScheduleRefused as refused:
        text = describe_refusal(call.texts, refused)
    return f"- {number}: {text}"


async def _draft_schedule(call: Invocation) -> Result:
    """Parse a new schedule and preview its next runs, to be saved by `/digest ok`."""
    texts, address = call.texts, call.turn.address
    text, place = _request_text(call), place_of(call.turn)
    if match := _TO_CHAT.fullmatch(text):
        text, place = match["rest"], await _resolve_chat(call, match["chat"])
    wanted = await call.core.part(ScheduleService).parse_request(
        text, address.account, place.chat, author_of(call.turn).person
    )
    if wanted is None:
        near = nearest_line(texts, nearest(call.words[0].lower(), [*_VERBS, "zone"]), mark="/digest ")
        raise ScheduleRefused("digest_when", nearest=near)
    preview = await call.core.part(ScheduleService).create(
        wanted, place, call.turn.messages[-1].sender, None, ScheduleState.DRAFT
    )
    one = preview.schedule
    is_elsewhere = place.chat != address.chat
    lines = [
        describe_draft(texts, one, shorten_text(one)),
        "",
        *await list_times(texts, preview),
        *(["", texts("digest_elsewhere", chat=quoted(place.chat))] if is_elsewhere else []),
        "",
        texts("digest_confirm", number=one.id),
    ]
    save = Button(texts("button_save"), f"digest ok {one.id}")
    discard = Button(texts("button_discard"), f"digest drop {one.id}")
    return Result("\n".join(lines), buttons=(save, discard))


async def _activate(call: Invocation, one: Schedule) -> str:
    if one.state is not ScheduleState.DRAFT:
        raise ScheduleRefused("digest_saved_already", number=one.id)
    if (proposal := await _proposal_of(call, one)) and proposal.action is not ProposalAction.CREATE:
        return await _carry_out(call, one, proposal)
    preview = await call.core.part(ScheduleService).activate(one, author_of(call.turn))
    return await _saved_line(call, preview)


async def _proposal_of(call: Invocation, one: Schedule) -> Proposal | None:
    """Return a draft's undecided proposal by the agent, or None if a command created it."""
    if one.state is not ScheduleState.DRAFT:
        return None
    found = await call.core.db.transact(find_proposal, one.id)
    return found if found is not None and found.decision is None else None


async def _carry_out(call: Invocation, draft: Schedule, proposal: Proposal) -> str:
    """Change or delete a schedule according to the agent's proposal; the person must still have
    permission.
    """
    one = await _load_permitted(call, proposal.action.value, proposal.target)
    changed = await call.core.part(ScheduleService).carry_out(proposal, draft, one, author_of(call.turn))
    if changed is None:
        return call.texts("digest_deleted", number=one.id)
    if changed.schedule.state is ScheduleState.PAUSED:
        return call.texts("digest_paused", number=one.id)
    return await _saved_line(call, changed)


async def _saved_line(call: Invocation, preview: SchedulePreview) -> str:
    one = preview.schedule
    following = await format_time(call.texts, preview.firings[0], one.zone)
    return call.texts("digest_saved", number=one.id, next=following)


async def _drop(call: Invocation, one: Schedule) -> str:
    if proposal := await _proposal_of(call, one):
        await call.core.db.transact(discard_proposal, proposal, author_of(call.turn), call.core.clock.now())
        return call.texts("proposal_discarded")
    await call.core.part(ScheduleService).delete(one, author_of(call.turn))
    return call.texts("digest_deleted", number=one.id)


async def _pause(call: Invocation, one: Schedule) -> str:
    if one.state is not ScheduleState.ACTIVE:
        raise ScheduleRefused("digest_not_active", number=one.id)
    await call.core.part(ScheduleService).pause(one, author_of(call.turn))
    return call.texts("digest_paused", number=one.id)


async def _resume(call: Invocation, one: Schedule) -> str:
    if one.state is not ScheduleState.PAUSED:
        raise ScheduleRefused("digest_not_paused", number=one.id)
    preview = await call.core.part(ScheduleService).activate(one, author_of(call.turn))
    return await _saved_line(call, preview)


async def _now(call: Invocation, one: Schedule) -> str:
    if one.state is ScheduleState.DRAFT:
        raise ScheduleRefused("digest_is_draft", number=one.id)
    await call.core.part(ScheduleService).trigger(one, author_of(call.turn))
    return call.texts("digest_fired", number=one.id)


async def _show(call: Invocation, one: Schedule) -> str:
    texts, schedules = call.texts, call.core.part(ScheduleService)
    preview = await schedules.preview(one) if one.state is ScheduleState.ACTIVE else SchedulePreview(one, ())
    runs = await call.core.db.transact(list_scheduled_runs, one.id, limit=RUNS_SHOWN)
    lines = [await _schedule_line(call, one), *(["", quoted(one.text, 500)] if one.text else [])]
    if preview.firings:
        lines += ["", *await list_times(texts, preview)]
    if runs:
        lines += ["", texts("digest_past"), ""]
        lines += [
            f"- {await format_time(texts, run.due_at, one.zone)}: {_describe_outcome(texts, run)}"
            for run in runs
        ]
    return "\n".join(lines)


_VERBS: dict[str, Callable[[Invocation, Schedule], Awaitable[str]]] = {
    "ok": _activate,
    "drop": _drop,
    "delete": _drop,
    "pause": _pause,
    "resume": _resume,
    "now": _now,
    "show": _show,
}


_DECISIONS = frozenset({"ok", "drop"})
"""Verbs that accept several numbers."""


async def _zone(call: Invocation) -> str:
    schedules, address = call.core.part(ScheduleService), call.turn.address
    if len(call.words) == 1:
        return call.texts(
            "digest_zone",
            zone=await call.core.zones.find_name(address.account, address.chat, author_of(call.turn).person),
        )
    await schedules.set_zone(address.account, address.chat, call.words[1])
    event = AuditEvent("digest zone", f"{address.account}:{address.chat}", call.words[1])
    await call.core.db.transact(record_event, author_of(call.turn), event, call.core.clock.now())
    return call.texts("digest_zone_set", zone=call.words[1])


async def _load_permitted(call: Invocation, verb: str, number: int) -> Schedule:
    """Return the schedule with this number if the caller may apply the verb to it. Raises ScheduleRefused.

    The schedule must post to this chat or have been created in this conversation; in a private chat, admins
    reach every schedule of their accounts. Everyone may show one; its creator and admins may change it.
    """
    one = await call.core.db.transact(load_schedule, number)
    is_admin = one is not None and call.may(Permission.DIGESTS, Target(one.account))
    anywhere = is_admin and call.turn.address.chat_kind is ChatKind.PRIVATE
    if one is None or not (_belongs(one, call) or anywhere):
        await _refuse_decided(call, number)
        raise ScheduleRefused("schedule_gone", number=number)
    author = author_of(call.turn).person
    if verb == "ok" and one.person != author and await _proposal_of(call, one):
        # It would run with the permissions of the person whom the agent answered.
        raise ScheduleRefused("proposal_foreign", number=number)
    if verb == ProposalAction.CHANGE and one.person != author:
        raise ScheduleRefused("proposal_not_own", number=number)
    if verb != "show" and one.person != author and not is_admin:
        raise ScheduleRefused("digest_foreign", number=number)
    return one


async def _refuse_decided(call: Invocation, number: int) -> None:
    """Refuse a second decision about an agent's proposal in this conversation."""
    made = await call.core.db.transact(find_proposal, number)
    if made is None or made.decision is None or made.conversation != call.turn.conversation:
        return
    key = "proposal_confirmed" if made.decision is ProposalDecision.CONFIRMED else "proposal_discarded"
    raise ScheduleRefused(key, number=number)


def _belongs(one: Schedule, call: Invocation) -> bool:
    """Return whether the schedule posts to this chat, or was created here for another chat."""
    address = call.turn.address
    here = (one.account, one.chat) == (address.account, address.chat)
    return here or one.made_in == call.turn.conversation


async def _list_schedules(call: Invocation) -> str:
    address = call.turn.address
    found = await call.core.db.transact(list_chat_schedules, address.account, address.chat)
    if not found:
        return call.texts("digest_none")
    lines = [f"- {await _schedule_line(call, one)}" for one in found]
    return "\n".join([call.texts("digest_title"), "", *lines, "", call.texts("digest_more")])


async def _schedule_line(call: Invocation, one: Schedule) -> str:
    following = (
        await format_time(call.texts, one.next_at, one.zone)
        if one.next_at
        else call.texts(f"digest_state_{one.state.value}")
    )
    return call.texts(
        "digest_line",
        number=one.id,
        spoken=quoted(one.spoken),
        text=f" {shorten_text(one)}" if one.text else "",
        next=following,
    )


def _describe_outcome(texts: Texts, run: ScheduledRun) -> str:
    if run.skipped:
        return texts(f"digest_skipped_{run.skipped}")
    if run.delivered:
        return texts("digest_delivered")
    if run.problem:
        retried = texts("digest_again") if run.retry_at else ""
        return texts("digest_failed", problem=run.problem, again=retried)
    return texts("digest_open")


def _request_text(call: Invocation) -> str:
    """Return the request, with a mentioned chat's id in place of its name."""
    message = call.turn.messages[-1]
    text = text_after(message.text)
    channels = {one.label: one.id for one in message.mentions if one.kind is MentionKind.CHANNEL}
    for label in sorted(channels, key=len, reverse=True):
        if named := re.match(rf"to\s+{re.escape(label)}(?=\s)", text, re.IGNORECASE):
            return f"to {channels[label]}{text[named.end() :]}"
    return text


async def _resolve_chat(call: Invocation, name: str) -> ScheduleTarget:
    """Return another chat of the account as the target for results; only admins may choose one."""
    turn, address = call.turn, call.turn.address
    chat = name.strip("<>#`").partition("|")[0]
    if not call.may(Permission.DIGEST_ELSEWHERE):
        raise ScheduleRefused("digest_named_admins")
    kind = await call.core.db.transact(load_chat_kind, address.account, chat)
    if kind is None:
        raise ScheduleRefused("digest_named_unknown", chat=quoted(chat))
    # A private chat belongs to one person; no one else may post results there.
    if kind is not ChatKind.GROUP and chat != address.chat:
        raise ScheduleRefused("digest_named_private", chat=quoted(chat))
    return ScheduleTarget(address.account, turn.platform, chat, kind, made_in=turn.conversation)


DIGEST = Command("digest", digest, argument="[to CHAT] [TIME TEXT]", matches_word=is_schedule)
