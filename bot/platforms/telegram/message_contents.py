"""Special content of messages: polls, places, games, invoices, rich messages and buttons of apps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import structlog

from bot import content
from bot.content import Card, CardLink
from bot.domain import Quotation
from bot.platforms.payload import (
    Json,
    Malformed,
    get_int,
    get_object,
    get_objects,
    get_string,
    require_object,
)
from bot.platforms.telegram.buttons import read_buttons
from bot.platforms.telegram.formatted_text import format_date, read_formatted, read_text
from bot.platforms.telegram.locations import read_place
from bot.platforms.telegram.names import chat_name, read_id, user_name
from bot.platforms.telegram.polls import read_checklist, read_poll
from bot.platforms.telegram.rich_messages import RichMessage

log = structlog.get_logger(__name__)

_VCARD_LINES = {"ORG": "organization", "TITLE": "title", "EMAIL": "e-mail", "URL": "website", "NOTE": "note"}
"""Properties of a vCard that are read in addition to name and telephone number (RFC 6350, section 6)."""
MAX_VCARD_LINES = 20


def read_contents(message: Json) -> list[Quotation]:
    """Return the content of a message or an `ExternalReplyInfo` other than text and files. Content that
    violates the documentation is reported as unsupported.
    """
    found: list[Quotation] = []
    for kind, read in _READERS.items():
        if message.get(kind) is None or (kind == "location" and message.get("venue") is not None):
            continue
        try:
            found += read(message)
        except Malformed as problem:
            log.warning("telegram.content_unreadable", kind=kind, reason=str(problem))
            found.append(content.unsupported(kind))
    return found


def read_rich_card(rich: RichMessage) -> Quotation:
    """Return a rich message as an app's card."""
    return content.card(Card(rich.title, lines=rich.lines), (one.filename for one in rich.attachments))


def _read_sticker(message: Json) -> Iterable[Quotation]:
    return [content.sticker(get_string(require_object(message, "sticker"), "emoji"))]


def _read_dice(message: Json) -> Iterable[Quotation]:
    dice = require_object(message, "dice")
    return [content.card(Card(f"{get_string(dice, 'emoji')} {get_int(dice, 'value')}"))]


def _read_audio(message: Json) -> Iterable[Quotation]:
    """Return title and performer of a music file, which is also attached."""
    audio = require_object(message, "audio")
    title, performer = get_string(audio, "title"), get_string(audio, "performer")
    return [content.card(Card(title, author=performer))] if title or performer else []


def _read_contact(message: Json) -> Iterable[Quotation]:
    contact = require_object(message, "contact")
    details = list(_read_vcard(get_string(contact, "vcard")))
    return [content.contact(user_name(contact), get_string(contact, "phone_number"), *details)]


def _read_vcard(card: str) -> Iterable[str]:
    for line in card.splitlines()[:MAX_VCARD_LINES]:
        name, _, value = line.partition(":")
        label = _VCARD_LINES.get(name.partition(";")[0].upper())
        if label and value.strip():
            yield f"{label}: {value.strip()}"


def _read_game(message: Json) -> Iterable[Quotation]:
    game = require_object(message, "game")
    lines = [get_string(game, "description"), read_formatted(game, "text", "text_entities").text]
    return [content.card(Card(get_string(game, "title"), lines=lines))]


def _read_invoice(message: Json) -> Iterable[Quotation]:
    invoice = require_object(message, "invoice")
    price = format_amount(get_string(invoice, "currency"), get_int(invoice, "total_amount"))
    lines = [get_string(invoice, "description"), f"Price: {price}"]
    return [content.card(Card(get_string(invoice, "title"), lines=lines))]


def format_amount(currency: str, amount: int) -> str:
    """Format an amount of money in the currency's smallest unit, as Telegram does, since currencies differ in
    their decimals; XTR are Telegram Stars.
    """
    unit = "Telegram Stars" if currency == "XTR" else f"(in the smallest unit of {currency})"
    return f"{amount} {unit}"


def _read_story(message: Json) -> Iterable[Quotation]:
    """Return a placeholder for a story, whose content the Bot API does not provide."""
    return [name_story(require_object(message, "story"))]


def name_story(story: Json) -> Quotation:
    """Return a `Story`, of which only the owner is available. Raises Malformed."""
    chat = get_object(story, "chat")
    return replace(content.unsupported("story"), author=chat_name(chat), author_id=read_id(chat))


def _read_paid_media(message: Json) -> Iterable[Quotation]:
    """Return the price of paid media, which is readable only after purchase."""
    paid = require_object(message, "paid_media")
    media = get_objects(paid, "paid_media")
    price = content.card(Card(f"Telegram paid media for {get_int(paid, 'star_count')} Stars"))
    has_unread = any(one.get("type") == "preview" for one in media)
    return [price, *([content.unsupported("paid media")] if has_unread else [])]


def _read_giveaway(message: Json) -> Iterable[Quotation]:
    giveaway = require_object(message, "giveaway")
    lines = [
        f"{get_int(giveaway, 'winner_count')} winners, drawn at "
        f"{format_date(get_int(giveaway, 'winners_selection_date'))}",
        *_describe_prize(giveaway),
        f"Chats to join: {', '.join(map(chat_name, get_objects(giveaway, 'chats')))}",
    ]
    return [content.card(Card("Telegram giveaway", lines=lines))]


def _read_winners(message: Json) -> Iterable[Quotation]:
    giveaway = require_object(message, "giveaway_winners")
    chat = chat_name(get_object(giveaway, "chat"))
    winners = ", ".join(map(user_name, get_objects(giveaway, "winners")))
    lines = [f"Winners: {winners}", *_describe_prize(giveaway)]
    return [content.card(Card(f"Winners of the Telegram giveaway of {chat}", lines=lines))]


def _describe_prize(giveaway: Json) -> Iterable[str]:
    stars = get_int(giveaway, "prize_star_count")
    months = get_int(giveaway, "premium_subscription_month_count")
    return [
        line
        for line in [
            f"Prize: {stars} Telegram Stars" if stars else "",
            f"Prize: Telegram Premium for {months} months" if months else "",
            get_string(giveaway, "prize_description"),
        ]
        if line
    ]


def _read_buttons(message: Json) -> Iterable[Quotation]:
    buttons = read_buttons(message)
    return [content.card(Card(lines=buttons))] if buttons else []


def _read_preview(message: Json) -> Iterable[Quotation]:
    """Return the page whose preview is displayed, if the text does not link to it."""
    options = require_object(message, "link_preview_options")
    url = get_string(options, "url")
    if not url or options.get("is_disabled") is True or url in read_text(message).text:
        return []
    return [content.preview(Card(lines=[CardLink("", url)]))]


_READERS: Mapping[str, Callable[[Json], Iterable[Quotation]]] = {
    "poll": lambda message: [read_poll(require_object(message, "poll"))],
    "checklist": lambda message: [read_checklist(require_object(message, "checklist"))],
    "venue": lambda message: [read_place(message)],
    "location": lambda message: [read_place(message)],
    "contact": _read_contact,
    "sticker": _read_sticker,
    "dice": _read_dice,
    "game": _read_game,
    "invoice": _read_invoice,
    "audio": _read_audio,
    "story": _read_story,
    "paid_media": _read_paid_media,
    "giveaway": _read_giveaway,
    "giveaway_winners": _read_winners,
    "link_preview_options": _read_preview,
    "reply_markup": _read_buttons,
}
