"""Context for a conversation's first message: the bot's latest exchanges in the chat.

An exchange with labels of more than `MAX_PEOPLE` is omitted with all older ones, which would pass for the
newest. A conversation that was told nothing adds no labels, so the next ones are told exchanges again. People
whose recorded messages the agent merely read get no label: the threads of their chats are replaced anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import tzinfo
from itertools import islice, takewhile

import orjson

from agent.shared.text import shorten
from bot.dispatch.run.agent_message import format_local_time
from bot.domain import ChatKind, Sender, person_of
from bot.store import Database
from bot.store.exchanges import AnsweredQuestion, add_quoted_people, is_first_turn, list_exchanges
from bot.texts import Texts
from bot.turn import Turn

MAX_EXCHANGES = 3
MAX_CANDIDATES = 20
MAX_QUESTION, MAX_ANSWER = 500, 1500
"""Characters of a question and of an answer; the rest is cut off."""
MAX_PEOPLE = 5
"""People besides who asked whose words an exchange may draw on; one with more and all older are omitted."""
BACK_SECONDS = 3 * 24 * 3600.0
"""Age of the oldest exchange, in seconds: what people still refer to."""
_PERSON = re.compile(r"[^\s()\[\],]+")


async def format_exchanges(
    turn: Turn,
    db: Database,
    texts: Texts,
    zone: tzinfo,
    *,
    is_hidden: Callable[[Sender], bool],
    hidden_people: Collection[str],
) -> str:
    """Format the bot's latest exchanges in a group for a conversation's first turn; "" if there are none.

    Those of people who are hidden (`platform:id`) are omitted. Each line names the people whose words are in
    it or led to it, and the conversation stores them, so that the erasure of one of them replaces its thread.
    """
    if turn.address.chat_kind is not ChatKind.GROUP or turn.answers or turn.is_scheduled:
        return ""
    if not await db.transact(is_first_turn, turn):
        return ""
    # The service names a person next to their words, so that others' words can be distinguished.
    label = re.compile(rf"\({re.escape(turn.platform)}:[^()\s]+\)")
    told = (
        one
        for one in await db.transact(list_exchanges, turn, BACK_SECONDS, MAX_CANDIDATES)
        if not any(map(is_hidden, _list_concerned(one, turn.platform)))
        and not label.search(one.answer)
        and not any(person in hidden_people for person in _list_people(one, turn.platform))
    )
    # An exchange older than an unlabelled one would be mistaken for the newest.
    labelled = takewhile(lambda one: _is_labelled(one, turn.platform), told)
    found = list(islice(labelled, MAX_EXCHANGES))
    if not found:
        return ""
    people = dict.fromkeys(name for one in found for name in _list_people(one, turn.platform))
    await db.transact(add_quoted_people, turn.conversation, tuple(people))
    lines = [_format(one, turn.platform, zone) for one in reversed(found)]
    return texts("note_exchanges", said="\n".join(lines))


def _list_concerned(one: AnsweredQuestion, platform: str) -> Iterator[Sender]:
    """Yield the authors of an exchange's questions, and people whose texts the answer may repeat."""
    yield from one.speakers
    yield from (Sender(person.removeprefix(f"{platform}:")) for person in one.people)


def _is_labelled(one: AnsweredQuestion, platform: str) -> bool:
    """Return whether an exchange's line can name everyone concerned."""
    people = _list_people(one, platform)
    return len(one.people) <= MAX_PEOPLE and all(_PERSON.fullmatch(person) for person in people)


def _list_people(one: AnsweredQuestion, platform: str) -> tuple[str, ...]:
    """Return everyone concerned in an exchange, starting with the people who asked."""
    return (person_of(platform, one.sender), *one.people)


def _format(one: AnsweredQuestion, platform: str, zone: tzinfo) -> str:
    """Format an exchange as one line. It contains people's texts as JSON strings, so that none can imitate
    it.
    """
    name = f"{_quote(one.sender.name or one.sender.id, MAX_QUESTION)} ({person_of(platform, one.sender)})"
    others = f" [with {', '.join(one.people)}]" if one.people else ""
    asked, answered = _quote(one.text, MAX_QUESTION), _quote(one.answer, MAX_ANSWER)
    return f"- {format_local_time(one.asked_at, zone)} {name}{others}: {asked} -> {answered}"


def _quote(text: str, most: int) -> str:
    return orjson.dumps(shorten(text, most)).decode()
