"""Export of a conversation as Markdown or JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

import orjson

from bot.domain import PartKind
from bot.server.api import presenters, schemas
from bot.server.api.auth import Principal
from bot.server.api.dependencies import ApiServices
from bot.store.conversations import ConversationView
from bot.store.read_models import list_turns

PAGE = 200


class ExportFormat(StrEnum):
    """File format of an exported conversation."""

    MARKDOWN = "markdown"
    JSON = "json"


MEDIA_TYPES = {ExportFormat.MARKDOWN: "text/markdown", ExportFormat.JSON: "application/json"}
SUFFIXES = {ExportFormat.MARKDOWN: "md", ExportFormat.JSON: "json"}


async def export_conversation(
    services: ApiServices, by: Principal, of: ConversationView, wanted: ExportFormat
) -> bytes:
    """Return a conversation with all of its turns, oldest first."""
    turns: list[schemas.TurnInfo] = []
    found = await services.db.transact(list_turns, of.id, limit=PAGE)
    while found:
        turns += await presenters.present_turns(services, by, {of.id: of}, found)
        found = await services.db.transact(list_turns, of.id, found[-1].id, PAGE)
    shown = presenters.present_conversation(services, by, of)
    if wanted is ExportFormat.MARKDOWN:
        return _to_markdown(shown, turns[::-1]).encode()
    told = [turn.model_dump(mode="json", exclude={"parts": {"__all__": {"url"}}}) for turn in turns[::-1]]
    content = {"conversation": shown.model_dump(mode="json"), "turns": told}
    return orjson.dumps(content, option=orjson.OPT_INDENT_2)


def _to_markdown(of: schemas.ConversationInfo, turns: list[schemas.TurnInfo]) -> str:
    blocks = [f"# {' '.join(of.title.split()) or f'Conversation {of.id}'}"]
    for turn in turns:
        for message in turn.messages:
            at = datetime.fromtimestamp(message.sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
            blocks.append(f"## {' '.join((message.name or message.sender).split())}, {at}")
            quoted = [f"> {line}" for one in message.quotations for line in one.text.splitlines()]
            blocks += ["\n".join(quoted), message.text, *(f"- {file.filename}" for file in message.files)]
        if turn.parts:
            blocks.append("## Roebot" + (" (replaced)" if turn.replaced else ""))
        blocks += [part.text if part.kind is PartKind.TEXT else f"- {part.filename}" for part in turn.parts]
    return "\n\n".join(filter(None, blocks)) + "\n"
