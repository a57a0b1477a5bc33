"""The recording adapter of `roebot_testing`: a fake passes the same suite as the real thing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bot.domain import Attachment, AttachmentKind, ChatKind, OutboundMessage, Quotation, QuotationKind
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.base import Adapter
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.conformance import ANN, Ability, Driver, Seen, Where
from roebot_testing.conformance.viewer import read_markdown

FAKE = {
    Ability.CREDENTIALS: "a fake has none",
    Ability.NETWORK: "a fake has none",
    Ability.CONNECTION: "a fake has none",
    Ability.SILENCE: "a fake has none",
    Ability.ORDERED: "whoever calls `hears` waits for the store",
    Ability.CONFIRMS: "whoever calls `hears` waits for the store",
    Ability.REPEATS: "whoever calls `hears` waits for the store",
    Ability.KEEPS: "whoever calls `hears` waits for the store",
    Ability.ENDS: "a message is as long as it has to be",
    Ability.EXPELS: "a fake is let in everywhere",
    Ability.EXPIRES: "an edited message stays open for ever",
    Ability.REQUESTS: "a fake is called directly",
    Ability.APPS: "only people write to a fake",
}
OPERATIONS = {"post": "post", "edit": "edit", "frame": "edit", "final": "edit", "file": "file"}


class RecordingDriver(Driver):
    """See PlatformDriver. The fake is its own platform, so there is one for all lives."""

    account = "rec"
    cannot = FAKE

    def __init__(self) -> None:
        super().__init__()
        self.fake = RecordingAdapter(renderer=TELEGRAM_ENTITIES, repeats_safely=True)
        self._versions: dict[str, list[str]] = {}

    def adapter(self) -> Adapter:
        return self.fake

    async def writes(self, text: str, at: Where = ANN, *, addressed: bool = True) -> str:
        await self._hears(text, at, addressed=addressed)
        return f"u{self.fake._number}"

    async def replies(self, text: str, message_id: str, at: Where = ANN) -> str:
        await self._hears(text, at, to=message_id, addressed=not at.team or message_id in self.fake.shown)
        return f"u{self.fake._number}"

    def name_of(self, at: Where) -> str:
        return f"P{at.person}"

    async def forwards(self, text: str, at: Where = ANN) -> str:
        quotation = Quotation(QuotationKind.FORWARD, text, "Mallory")
        await self._hears("", at, quotations=(quotation,), addressed=not at.team)
        return f"u{self.fake._number}"

    async def sends_file(self, data: bytes, filename: str, mime: str, at: Where = ANN) -> str:
        self.fake.files[filename] = data
        attachment = Attachment(AttachmentKind.FILE, filename, filename, len(data), mime)
        await self._hears("", at, attachments=(attachment,))
        return f"u{self.fake._number}"

    async def removes(self, message_id: str, at: Where = ANN) -> None:
        del self.fake.shown[message_id]

    def limits(self, at: Where, seconds: float) -> None:
        self.fake.penalties[_chat(at)] = seconds

    def lifts(self, at: Where) -> None:
        del self.fake.penalties[_chat(at)]

    def loses_answer(self, operation: str) -> None:
        lost = DeliveryError(DeliveryCategory.TRANSIENT, "the answer got lost", unknown_outcome=True)
        self.fake.fail(OPERATIONS[operation], lost, commit=True)

    def fails(self, operation: str) -> None:
        self.fake.fail(OPERATIONS[operation], DeliveryError(DeliveryCategory.TRANSIENT, "internal error"))

    def recorded(self, message: OutboundMessage, message_id: str) -> None:
        self._versions.setdefault(message_id, []).append(message.text)

    def seen(self, at: Where = ANN) -> Sequence[Seen]:
        return [
            Seen(
                one.id,
                (read := read_markdown(one.text)).text,
                tuple(self._versions.get(one.id, ())),
                tuple(read.code),
                tuple(read.links),
                filename=one.filename,
                mentions=one.mentions,
                data=self.fake.files.get(one.filename, b""),
            )
            for one in self.fake.shown.values()
            if one.address.chat == _chat(at)
        ]

    def typing(self, at: Where = ANN) -> bool:
        return ("typing", _chat(at), "") in self.fake.calls

    def menu(self) -> Sequence[str]:
        return [hint.name for hint in self.fake.commands]

    async def _hears(self, text: str, at: Where, **more: object) -> None:
        kind = ChatKind.GROUP if at.team else ChatKind.PRIVATE
        await self.fake.hears(text.strip(), chat=_chat(at), person=at.person.value, kind=kind, **more)


def _chat(at: Where) -> str:
    return "team" if at.team else at.person.value


@asynccontextmanager
async def recording() -> AsyncIterator[RecordingDriver]:
    yield RecordingDriver()
