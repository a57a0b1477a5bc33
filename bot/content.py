"""Texts for message content other than plain text: cards, polls, locations and so on.

Each platform represents these differently. An adapter reads its payload into the types defined here, so that
the agent, the chat record and digests read the same wording for the same content on every platform. Texts are
in English, since the agent reads them. Values that are "" or empty are omitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.shared.text import shorten
from bot.domain import Quotation, QuotationKind

MAX_CARD_CHARACTERS = 8000
"""Maximum length in characters of the text of a card; the rest is cut off."""
MAX_TRANSCRIPT_CHARACTERS = 20_000
"""Maximum length in characters of a transcript, about twenty minutes of speech; the rest is cut off."""


@dataclass(frozen=True, slots=True)
class CardLink:
    """A link or button of a card; `url` is "" for a button without an address."""

    label: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class CardField:
    """A named value of a card; `name` may be ""."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Card:
    """An app's card, also known as blocks, attachments, embeds, components or an interactive message.

    `lines` is everything between title and footer in reading order: text in Markdown, fields and links.
    `author` is the line above the title.
    """

    title: str = ""
    url: str = ""
    author: str = ""
    lines: Sequence[str | CardField | CardLink] = ()
    footer: str = ""


@dataclass(frozen=True, slots=True)
class PollOption:
    """An option of a poll; `votes` is -1 if unknown."""

    text: str
    votes: int = -1


@dataclass(frozen=True, slots=True)
class ChecklistTask:
    """A task of a checklist; `by` is the name of the person who completed it."""

    text: str
    done: bool = False
    by: str = ""


def link_text(link: CardLink) -> str:
    """Return a link as Markdown, or a button without an address in brackets."""
    if not link.url:
        return f"[{link.label}]"
    return link.url if link.label in ("", link.url) else f"[{link.label}]({link.url})"


def card_text(card: Card) -> str:
    """Return a card as lines of Markdown: author, title, content and footer."""
    title = link_text(CardLink(card.title, card.url)) if card.url else card.title
    lines = [card.author, title, *map(_card_line, card.lines), card.footer]
    text = "\n".join(line for line in (one.strip() for one in lines) if line)
    return shorten(text, MAX_CARD_CHARACTERS)


def _card_line(line: str | CardField | CardLink) -> str:
    if isinstance(line, CardField):
        return f"{line.name}: {line.value}" if line.name else line.value
    return link_text(line) if isinstance(line, CardLink) else line


def card(card: Card, files: Iterable[str] = ()) -> Quotation:
    """Build a card's content; `files` are the names of attachments that belong to it."""
    return Quotation(QuotationKind.CARD, card_text(card), files=tuple(files))


def preview(card: Card) -> Quotation:
    """Build a link preview's content, which the platform added."""
    return Quotation(QuotationKind.PREVIEW, card_text(card))


def poll(question: str, options: Iterable[PollOption], *details: str) -> Quotation:
    """Build a poll's content; `details` are facts such as "anonymous" or "closed"."""
    lines = [f"- {one.text}{_votes(one.votes)}" for one in options]
    return _build(QuotationKind.POLL, question, *lines, ", ".join(filter(None, details)))


def _votes(votes: int) -> str:
    return "" if votes < 0 else f" ({votes} {'vote' if votes == 1 else 'votes'})"


def checklist(title: str, tasks: Iterable[ChecklistTask]) -> Quotation:
    """Build a checklist's content."""
    return _build(QuotationKind.CHECKLIST, title, *map(_task_line, tasks))


def _task_line(task: ChecklistTask) -> str:
    by = f" (done by {task.by})" if task.by else ""
    return f"- [{'x' if task.done else ' '}] {task.text}{by}"


def location(
    latitude: float, longitude: float, name: str = "", address: str = "", note: str = ""
) -> Quotation:
    """Build a location's content; `note` adds a detail, such as "live until 14:30"."""
    return _build(QuotationKind.LOCATION, name, address, f"{_degrees(latitude)}, {_degrees(longitude)}", note)


def _degrees(value: float) -> str:
    """Format degrees with up to six decimals, a precision of 0.1 m."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def contact(name: str, *details: str) -> Quotation:
    """Build a contact's content: a person's name, then details such as telephone numbers."""
    return _build(QuotationKind.CONTACT, name, *details)


def sticker(description: str) -> Quotation:
    """Build a sticker's content; `description` is its emoji or name ("" if it has neither)."""
    return Quotation(QuotationKind.STICKER, description)


def transcript(text: str, file: str) -> Quotation:
    """Build the transcript of the author's own recording, which is attached as `file`."""
    text = shorten(text, MAX_TRANSCRIPT_CHARACTERS)
    return Quotation(QuotationKind.TRANSCRIPT, text, files=(file,) if file else ())


def transcript_line(text: str, file: str) -> str:
    """Return a recording's transcript as one line in the text of a forwarded or quoted message."""
    return f"[transcript of {file}] {shorten(text, MAX_TRANSCRIPT_CHARACTERS)}"


def notice(text: str) -> Quotation:
    """Build a platform notice, such as "Lena Okoro joined the group"."""
    return Quotation(QuotationKind.NOTICE, text)


def unsupported(name: str) -> Quotation:
    """Build a placeholder for content that Roebot can't read; `name` is the platform's name for it."""
    return Quotation(QuotationKind.UNSUPPORTED, name)


def inline_text(quotation: Quotation) -> str:
    """Return content as text for the quoted message that contains it."""
    if quotation.kind is QuotationKind.STICKER:
        return f"[sticker {quotation.text}]" if quotation.text else "[sticker]"
    if quotation.kind is QuotationKind.UNSUPPORTED:
        by = f" of {quotation.author}" if quotation.author else ""
        return f"[unsupported: {quotation.text}{by}]"
    return quotation.text


def _build(kind: QuotationKind, *lines: str) -> Quotation:
    return Quotation(kind, "\n".join(line for line in lines if line))
