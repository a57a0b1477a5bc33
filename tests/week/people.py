"""The people of the simulated week: what they do becomes events of their platforms, and they react to what
they see there: they answer questions, save what they planned, and take it back.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bot.content import Card, CardField, PollOption, card, location, poll, sticker, unsupported
from bot.domain import (
    Attachment,
    AttachmentKind,
    ChatKind,
    InboundChange,
    InboundEvent,
    InboundMessage,
    Origin,
    Quotation,
    QuotationKind,
    Sender,
)
from tests.week.agent_actions import WORDS
from tests.week.digests import BEGIN, Digest
from tests.week.plan import HOUR, MINUTE, Act, Deed
from tests.week.platforms import Platform, Question
from tests.week.team import Person, Place, others, team

if TYPE_CHECKING:
    from tests.week.stage import Stage

ASKED = re.compile(r"ask-run-\d+")
OFFERED = re.compile(r"digest(?:@\w+)? ok (\d+)")
NUMBERED = re.compile(r"`[^`]*?\bapprove(?:@\w+)? (\d+)`")
Action = Callable[[], Awaitable[None]]
NOW = 3
"""So often a digest of fixed text is told to happen now, too."""
LOOKS, LOOK_EVERY = 20, 30.0
"""How often somebody looks for the answer to a `/digest`, and after how long each time (seconds)."""


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button that somebody pressed, or the words that do the same."""

    event_id: str
    question: Question
    person: Person
    word: str
    in_words: bool


class Crowd:
    """Everybody. `meant` are the acts by the event that they became, `saved` the numbers of the digests."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._stage = stage
        self._chance = chance
        self.meant: dict[tuple[str, str], Act] = {}
        self.pressed: list[Pressed] = []
        self.saved: dict[str, int] = {}
        self.triggered: Counter[str] = Counter()
        """How often a digest was told to happen now, too."""
        self._asked: set[tuple[str, str]] = set()
        self._clicks = 0
        self._roots: defaultdict[str, list[str]] = defaultdict(list)
        self._origins: dict[int, Origin] = {}

    async def does(self, act: Act) -> None:
        """Act, as the week says."""
        platform = self._stage.platforms[act.place.platform]
        event = self._event(platform, act)
        if event is None:
            return
        self.meant[platform.name, event.event_id] = act
        await platform.sends(event)
        if act.odd == "album" and not act.place.group and isinstance(event, InboundMessage):
            origin = replace(event.origin, message_id=f"{act.number}b")
            await platform.sends(replace(event, event_id=f"{event.event_id}b", origin=origin, text=""))
        if act.deed is Deed.PLANS:
            digest = next(one for one in self._stage.week.digests if one.command == act.text)
            self._later(LOOK_EVERY, partial(self._saves, digest, LOOKS))

    def _event(self, platform: Platform, act: Act) -> InboundEvent | None:
        now = self._stage.clock.now()
        if act.deed in (Deed.EDITS, Deed.DELETES):
            origin = self._origins.get(act.of)
            if origin is None:
                return None
            text = f"#m{act.of:05d} {act.text}" if act.deed is Deed.EDITS else None
            return InboundChange(f"e{act.number}", origin, text, now)
        origin = self._origins[act.number] = self._origin(platform, act)
        text = f"{act.key} {act.text}" if act.deed in (Deed.SAYS, Deed.CHATS) else act.text
        message = InboundMessage(f"e{act.number}", origin, text, now, addressed=act.deed is not Deed.CHATS)
        return _oddly(message, act)

    def _origin(self, platform: Platform, act: Act) -> Origin:
        place, number = act.place, str(act.number)
        origin = _here(place, number, act.person)
        if not place.group:
            return origin
        latest = platform.latest.get(place.chat, "")
        if place.threads:
            roots = self._roots[place.chat]
            inside = roots[-1] if act.follows and roots else number
            if inside == number and act.deed is not Deed.CHATS:
                roots.append(number)
            return replace(origin, topic=inside if act.deed is not Deed.CHATS else "")
        return replace(origin, reply_to=latest) if act.follows and latest else origin

    def _later(self, seconds: float, action: Action) -> None:
        self._stage.plan(self._stage.clock.now() + seconds, action)

    # Questions

    def asked(self, question: Question) -> None:
        """A message with buttons stands; people react, each question once."""
        place = (question.platform, question.message_id)
        if place in self._asked or (found := ASKED.search(question.text)) is None:
            return
        self._asked.add(place)
        if question.choices == WORDS:
            self._decide(question, found[0])
        elif self._chance.random() < 0.7:
            who = self._chance.choice(self._inside(question, found[0]))
            word = self._chance.choice(question.choices)
            self._later(self._chance.uniform(1.0, 60.0), partial(self._press, question, who, word))

    def _decide(self, question: Question, asked: str) -> None:
        """Somebody who may decides, or nobody; others try, and some press twice or too late."""
        chance = self._chance
        word, soon = chance.choice(WORDS), chance.uniform(1.0, 90.0)
        mine = [one for one in self._inside(question, asked) if self._asks(one, question.platform, asked)]
        if question.address.chat_kind is ChatKind.GROUP and chance.random() < 0.6:
            for who in chance.sample([one for one in (*team(), *others()) if one not in mine], 2):
                self._later(chance.uniform(0.5, soon), partial(self._press, question, who, word))
        if not mine or chance.random() < 0.06:
            return
        who = chance.choice(mine)
        if question.address.chat_kind is ChatKind.GROUP and chance.random() < 0.25:
            who = team()[chance.randint(0, 2)]
        if chance.random() < 0.25:
            self._later(soon, partial(self._writes, question, who, word))
        else:
            self._later(soon, partial(self._press, question, who, word))
        for share, after in ((0.3, 0.3), (0.2, HOUR)):
            if chance.random() < share:
                again = chance.choice(WORDS)
                self._later(soon + after, partial(self._press, question, who, again))

    def _inside(self, question: Question, asked: str) -> list[Person]:
        """Who could press a button there."""
        if question.address.chat_kind is ChatKind.GROUP:
            return list(team())
        return [one for one in team() if self._asks(one, question.platform, asked)]

    def _asks(self, person: Person, platform: str, asked: str) -> bool:
        """Whether they wrote what the run was asked that asks now."""
        request = self._stage.agent.requests[asked.removeprefix("ask-")]
        told = [message["additional_kwargs"].get("sender") for message in request.messages]
        return f"{platform}:{person.on(platform)}" in told

    async def _press(self, question: Question, who: Person, word: str) -> None:
        address = question.address
        self._clicks += 1
        sender = Sender(who.on(question.platform), who.name)
        origin = Origin(
            question.platform,
            question.platform,
            address.chat,
            address.chat_kind,
            question.message_id,
            sender,
            address.topic,
            question.message_id,
        )
        event = InboundMessage(f"c{self._clicks}", origin, word, self._stage.clock.now(), clicked=True)
        await self._decides(event, question, who, word)

    async def _writes(self, question: Question, who: Person, word: str) -> None:
        """The decision in words, with the number that stands below the question."""
        found = NUMBERED.search(question.text)
        assert found is not None, question.text
        self._clicks += 1
        place = Place(question.platform, question.address.chat, question.address.chat_kind)
        number = f"c{self._clicks}"
        origin = replace(_here(place, number, who), topic=question.address.topic)
        event = InboundMessage(number, origin, f"/{word} {found[1]}", self._stage.clock.now())
        await self._decides(event, question, who, word)

    async def _decides(self, event: InboundMessage, question: Question, who: Person, word: str) -> None:
        self.pressed.append(Pressed(event.event_id, question, who, word, not event.clicked))
        await self._stage.platforms[question.platform].sends(event)

    # Digests

    async def _saves(self, digest: Digest, left: int) -> None:
        """Save what was shown as a draft; look again where it is not there yet."""
        platform = self._stage.platforms[digest.place.platform]
        shown = [one.text for one in platform.shown.values() if one.address.chat == digest.place.chat]
        offered = [found[1] for text in shown if digest.key in text and (found := OFFERED.search(text))]
        if not offered:
            assert left, f"no answer to {digest.command}: {shown[-5:]}"
            self._later(LOOK_EVERY, partial(self._saves, digest, left - 1))
            return
        number = self.saved[digest.key] = int(offered[-1])
        await self._orders(digest, f"/digest ok {number}")
        if digest.until and BEGIN + digest.until < self._stage.end:
            wait = BEGIN + digest.until - self._stage.clock.now()
            self._later(wait, partial(self._orders, digest, f"/digest delete {number}"))
        self._later(20 * MINUTE, partial(self._orders, digest, f"/digest show {number}"))
        for _ in range(NOW if digest.text and not digest.until else 0):
            self.triggered[digest.key] += 1
            soon = self._chance.uniform(0.5, 10.0) * HOUR
            self._later(soon, partial(self._orders, digest, f"/digest now {number}"))

    async def _orders(self, digest: Digest, text: str) -> None:
        self._clicks += 1
        number = f"c{self._clicks}"
        origin = _here(digest.place, number, digest.person)
        if digest.place.threads:
            origin = replace(origin, topic=number)
        event = InboundMessage(number, origin, text, self._stage.clock.now())
        await self._stage.platforms[digest.place.platform].sends(event)


_ALERT = Card("Queue is growing", "https://mon.example.com/17", lines=[CardField("Host", "mail-3")])
CONTENTS: Mapping[str, tuple[Quotation, ...]] = {
    "reply": (Quotation(QuotationKind.REPLY, "The harbour opens at six.", "Somebody", "somebody"),),
    "forward": (Quotation(QuotationKind.FORWARD, "The harbour opens at six.", "Somebody", "somebody"),),
    "card": (card(_ALERT),),
    "poll": (poll("Which day?", (PollOption("Monday", 2), PollOption("Tuesday")), "anonymous"),),
    "place": (location(53.5461, 9.9661, "Landing stages"),),
    "sticker": (sticker("👍"),),
}
"""What an odd message holds besides its words."""


def _here(place: Place, message_id: str, person: Person) -> Origin:
    sender = Sender(person.on(place.platform), person.name)
    return Origin(place.platform, place.platform, place.chat, place.kind, message_id, sender)


def _oddly(message: InboundMessage, act: Act) -> InboundMessage:
    """The message as it is where it is an odd one."""
    match act.odd:
        case "file" | "album":
            files = (Attachment(AttachmentKind.FILE, "notes.txt", "f1", 6),)
            return replace(message, attachments=files, group_key=act.key if act.odd == "album" else "")
        case "app":
            sender = replace(message.origin.sender, is_bot=True, name="Monitoring")
            return replace(message, origin=replace(message.origin, sender=sender), addressed=True)
        case "unsupported":
            return replace(message, text="", quotations=(unsupported("game"),))
        case "empty":
            return replace(message, text="  ")
        case "huge":
            return replace(message, text=f"{message.text} " + "x" * 100_001)
        case _:
            return replace(message, quotations=CONTENTS.get(act.odd, ()))
