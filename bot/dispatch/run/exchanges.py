"""What the agent gets of the bot's record with the first message on a thread: its last exchanges in the chat,
or what people wrote on the thread that the new one replaces.

An exchange with labels of more than `MAX_PEOPLE` is left out with all older ones, which would pass for the
newest. A conversation that was told nothing adds no labels, so the next ones are told exchanges again.
People whose recorded messages the agent merely read get no label: the threads of their chats are replaced
anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import tzinfo
from itertools import islice, takewhile

import orjson

from agent.shared.text import shorten
from bot.dispatch.run.agent_message import format_local_time
from bot.domain import ChatKind, HistoryMessage, Sender, person_of
from bot.privacy.blocked_people import BlockedPeople
from bot.privacy.chat_record import format_messages
from bot.store import Database
from bot.store.erasures import list_open_erasures
from bot.store.exchanges import AnsweredQuestion, add_quoted_people, list_exchanges
from bot.store.leaving_threads import list_kept_messages
from bot.store.record import is_first_turn
from bot.texts import Texts
from bot.turn import Turn, TurnMessage

MAX_EXCHANGES = 3
MAX_CANDIDATES = 20
MAX_QUESTION, MAX_ANSWER = 500, 1500
"""Characters of a question and of an answer; the rest is cut off."""
MAX_PEOPLE = 5
"""People besides who asked whose words an exchange may draw on; one with more and all older are left out."""
BACK_SECONDS = 3 * 24 * 3600.0
"""Age of the oldest exchange, in seconds: what people still refer to."""
MAX_KEPT, MAX_KEPT_CHARACTERS = 100, 12_000
"""Messages of a replaced thread, and characters of all of them."""
_PERSON = re.compile(r"[^\s()\[\],]+")


async def format_exchanges(
    turn: Turn, db: Database, texts: Texts, zone: tzinfo, *, hidden: Callable[[Sender], bool]
) -> str:
    """Format the bot's last exchanges in a group, for a turn that begins a conversation; "" for none.

    `hidden` tells whose messages are left out; so are those of people whose erasure is in progress. Each line
    names the people whose words are in it or led to it, and the conversation stores them, so that the erasure
    of one of them replaces its thread.
    """
    if turn.address.chat_kind is not ChatKind.GROUP or turn.answers or turn.repeats or turn.is_scheduled:
        return ""
    if not await db.transact(is_first_turn, turn):
        return ""
    # How the service names a person beside their words: the answer tells what somebody else said.
    label = re.compile(rf"\({re.escape(turn.platform)}:[^()\s]+\)")
    erased = {str(one.person) for one in await db.transact(list_open_erasures)}
    told = (
        one
        for one in await db.transact(list_exchanges, turn, BACK_SECONDS, MAX_CANDIDATES)
        if not any(map(hidden, _list_concerned(one, turn.platform)))
        and not label.search(one.answer)
        and erased.isdisjoint(_list_people(one, turn.platform))
    )
    # An older exchange than one that can't be labelled would pass for the newest.
    labelled = takewhile(lambda one: _is_labelled(one, turn.platform), told)
    found = list(islice(labelled, MAX_EXCHANGES))
    if not found:
        return ""
    people = dict.fromkeys(name for one in found for name in _list_people(one, turn.platform))
    await db.transact(add_quoted_people, turn.conversation, tuple(people))
    lines = [_format(one, turn.platform, zone) for one in reversed(found)]
    return texts("note_exchanges", said="\n".join(lines))


async def format_kept_messages(
    turn: Turn, db: Database, texts: Texts, zone: tzinfo, *, blocked: BlockedPeople
) -> str:
    """Format what people wrote in a conversation whose agent thread was replaced, for the first run on the
    new one; "" for any other. It contains nothing of `blocked` people, nor of those whose erasure is in
    progress, and none of the agent's answers: they may repeat the erased person in other words.
    """
    if turn.answers:
        return ""
    kept = await db.transact(list_kept_messages, turn, MAX_KEPT)
    if not kept:
        return ""
    erased = {str(one.person) for one in await db.transact(list_open_erasures)}

    def is_hidden(sender: Sender) -> bool:
        return blocked.is_blocked(sender) or person_of(turn.platform, sender) in erased

    readable = replace(blocked, is_blocked=is_hidden).filter_messages(map(_as_history, kept))
    lines, omitted = format_messages(readable, turn.platform, zone, MAX_KEPT_CHARACTERS)
    return texts("note_renewed", said="\n".join(lines), left=omitted, zone=zone) if lines else ""


def _as_history(message: TurnMessage) -> HistoryMessage:
    files = (f"[{one.filename}]" for one in message.attachments)
    text = "\n".join(filter(None, [message.text, *files]))
    return HistoryMessage(
        message.message_id, message.sender, text, message.sent_at, quotations=message.quotations
    )


def _list_concerned(one: AnsweredQuestion, platform: str) -> Iterator[Sender]:
    """Yield who wrote to the bot for an exchange, and whose words it may repeat."""
    yield from one.speakers
    yield from (Sender(person.removeprefix(f"{platform}:")) for person in one.people)


def _is_labelled(one: AnsweredQuestion, platform: str) -> bool:
    """Return True if the line of an exchange can name everybody whom it concerns."""
    people = _list_people(one, platform)
    return len(one.people) <= MAX_PEOPLE and all(_PERSON.fullmatch(person) for person in people)


def _list_people(one: AnsweredQuestion, platform: str) -> tuple[str, ...]:
    """Return everybody whom an exchange concerns, first who asked."""
    return (person_of(platform, one.sender), *one.people)


def _format(one: AnsweredQuestion, platform: str, zone: tzinfo) -> str:
    """Return an exchange as a line; people's texts are JSON strings in it, so that none can pass for it."""
    name = f"{_quote(one.sender.name or one.sender.id, MAX_QUESTION)} ({person_of(platform, one.sender)})"
    others = f" [with {', '.join(one.people)}]" if one.people else ""
    asked, answered = _quote(one.text, MAX_QUESTION), _quote(one.answer, MAX_ANSWER)
    return f"- {format_local_time(one.asked_at, zone)} {name}{others}: {asked} -> {answered}"


def _quote(text: str, most: int) -> str:
    return orjson.dumps(shorten(text, most)).decode()
