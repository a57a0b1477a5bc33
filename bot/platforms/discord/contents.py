"""Content of a message other than text: cards, polls, stickers and contained messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bot import content
from bot.content import Card, PollOption
from bot.domain import Quotation, QuotationKind
from bot.platforms.discord.attachments import VOICE, describe_files, file_name, own_files
from bot.platforms.discord.cards import (
    find_unknown_components,
    read_components,
    read_embed,
)
from bot.platforms.discord.names import MessageNames, list_snapshots
from bot.platforms.discord.notices import COMMAND_USED, THREAD_STARTER, WRITTEN, read_notice
from bot.platforms.discord.snowflake import snowflake, snowflake_time
from bot.platforms.discord.times import format_timestamp, parse_time
from bot.platforms.payload import Json, Malformed, get_int, get_object, get_objects, get_string, get_strings
from bot.platforms.unreadable import mark_unreadable

LOADING = 1 << 7
"""Flag of an answer that an app is still working on."""
_ACTIVITIES = {1: "play", 2: "watch", 3: "listen", 5: "join"}
"""docs.discord.com/developers/resources/message#message-object-message-activity-types"""

ReadPart = Callable[[Json, MessageNames], Iterable[Quotation]]


def read_contents(message: Json, names: MessageNames) -> list[Quotation]:
    """Return a message's content other than text and files, with a line in place of unreadable parts."""
    found: list[Quotation] = []
    for kind, read in _PARTS:
        try:
            found += read(message, names)
        except Malformed as problem:
            found.append(mark_unreadable(kind, problem))
    return found


def quote(kind: QuotationKind, message: Json, names: MessageNames) -> Quotation:
    """Return another person's message as a quotation, with all its content as text. Raises Malformed."""
    author, number = get_object(message, "author"), message.get("id")
    sent_at = snowflake_time(snowflake(message, "id")) if number is not None else _sent_at(message)
    return Quotation(
        kind,
        read_whole(message, names),
        names.name_of(author) if author else "",
        snowflake(author, "id") if author else "",
        tuple(file_name(file) for one in (message, *list_snapshots(message)) for file in own_files(one)),
        sent_at,
    )


def read_whole(message: Json, names: MessageNames) -> str:
    """Return a message as one text, including other content and forwarded messages. Raises Malformed."""
    kind = get_int(message, "type")
    if kind not in WRITTEN and kind != THREAD_STARTER:
        return read_notice(message, names)
    voice = "[voice message]" if get_int(message, "flags") & VOICE else ""
    lines = [names.read(get_string(message, "content")), voice, *map(_inline, read_contents(message, names))]
    lines += [read_whole(inner, names) for inner in list_snapshots(message)]
    return "\n".join(filter(None, (line.strip() for line in lines)))


def _inline(quotation: Quotation) -> str:
    """Return content as lines in the text of a quoted message."""
    if quotation.kind is QuotationKind.STICKER:
        return f"[sticker {quotation.text}]"
    if quotation.kind is QuotationKind.UNSUPPORTED:
        return f"[unsupported: {quotation.text}]"
    return f"[{quotation.files[0]}: {quotation.text}]" if quotation.files else quotation.text


def _read_use(message: Json, names: MessageNames) -> Iterable[Quotation]:
    """Read whose command an app answers, and whether it is still working on the answer."""
    used, about = get_object(message, "interaction"), get_object(message, "interaction_metadata")
    user = get_object(used, "user") or get_object(about, "user")
    if user:
        name = get_string(used, "name")
        command = f"/{name}" if get_int(message, "type") == COMMAND_USED else f'"{name}"'
        yield content.notice(f"{names.name_of(user)} used {command if name else 'the app'}")
    if get_int(message, "flags") & LOADING:
        yield content.notice("The app is thinking …")


def _read_embeds(message: Json, names: MessageNames) -> Iterable[Quotation]:
    """Read embeds: cards of apps, and previews added by Discord. An embed that repeats a link of the text is
    omitted.
    """
    from_app = get_object(message, "author").get("bot") is True or "webhook_id" in message
    has_author = bool(get_object(message, "author"))
    for embed in get_objects(message, "embeds"):
        card = read_embed(embed, names)
        own = get_string(embed, "type") in ("", "rich") and (from_app or not has_author)
        found = content.card(card) if own else content.preview(card)
        if found.text and (own or found.text not in get_string(message, "content")):
            yield found


def _read_components(message: Json, names: MessageNames) -> Iterable[Quotation]:
    card = content.card(read_components(message, names))
    if card.text:
        yield card
    yield from map(content.unsupported, find_unknown_components(message))


def _read_poll(message: Json, names: MessageNames) -> Iterable[Quotation]:
    """Read a poll, with counts if Discord has any (…/resources/poll#poll-results-object)."""
    poll = get_object(message, "poll")
    if not poll:
        return
    results = get_object(poll, "results")
    counts = {get_int(one, "id"): get_int(one, "count") for one in get_objects(results, "answer_counts")}
    is_closed = results.get("is_finalized") is True
    unknown = 0 if counts or is_closed else -1
    options = [
        PollOption(_media_text(get_object(one, "poll_media")), counts.get(get_int(one, "answer_id"), unknown))
        for one in get_objects(poll, "answers")
    ]
    expiry = get_string(poll, "expiry")
    until = f"open until {format_timestamp(expiry)}" if expiry else ""
    several = "several answers allowed" if poll.get("allow_multiselect") is True else ""
    question = _media_text(get_object(poll, "question"))
    yield content.poll(question, options, "closed" if is_closed else until, several)


def _media_text(media: Json) -> str:
    """Return the text of a question or answer with its emoji; a server's own emoji only has a name."""
    emoji = get_object(media, "emoji")
    return " ".join(filter(None, (_emoji(emoji), get_string(media, "text"))))


def _emoji(emoji: Json) -> str:
    name = get_string(emoji, "name")
    return f":{name}:" if name and emoji.get("id") is not None else name


def _read_stickers(message: Json, names: MessageNames) -> Iterable[Quotation]:
    return [content.sticker(get_string(one, "name")) for one in get_objects(message, "sticker_items")]


def _read_activity(message: Json, names: MessageNames) -> Iterable[Quotation]:
    activity, app = get_object(message, "activity"), get_object(message, "application")
    if activity:
        verb = _ACTIVITIES.get(get_int(activity, "type"), "join")
        title = f"Invitation to {verb}: {get_string(app, 'name') or 'an activity'}"
        yield content.card(Card(title, lines=[get_string(app, "description")]))


def _read_theme(message: Json, names: MessageNames) -> Iterable[Quotation]:
    theme = get_object(message, "shared_client_theme")
    if theme:
        listed = ", ".join(f"#{colour}" for colour in get_strings(theme, "colors"))
        yield content.card(Card("Shared theme of Discord's app", lines=[listed]))


def _read_reactions(message: Json, names: MessageNames) -> Iterable[Quotation]:
    reactions = [
        f"{_emoji(get_object(one, 'emoji'))} {get_int(one, 'count')}"
        for one in get_objects(message, "reactions")
    ]
    if reactions:
        yield content.notice(f"Reactions: {', '.join(reactions)}")


def _sent_at(message: Json) -> float:
    timestamp = get_string(message, "timestamp")
    return parse_time(timestamp) if timestamp else 0.0


_PARTS: tuple[tuple[QuotationKind, ReadPart], ...] = (
    (QuotationKind.NOTICE, _read_use),
    (QuotationKind.CARD, _read_embeds),
    (QuotationKind.CARD, _read_components),
    (QuotationKind.POLL, _read_poll),
    (QuotationKind.STICKER, _read_stickers),
    (QuotationKind.CARD, _read_activity),
    (QuotationKind.CARD, _read_theme),
    (QuotationKind.PREVIEW, describe_files),
    (QuotationKind.NOTICE, _read_reactions),
)
