"""Route to search conversations."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query

from bot.access import Permission, Role
from bot.domain import PartKind
from bot.server.api import local_chats, schemas
from bot.server.api.auth import By, Principal, accounts_with, open_to, record_conversation_read
from bot.server.api.dependencies import ApiServices, Cursor, Limit, Services, parse_cursor
from bot.store.conversations import ConversationView
from bot.store.read_models import TurnFilter, TurnView, list_turns
from bot.store.search import Hit, HitPlace, find_titles
from bot.turn import TurnKind

STEP, STEPS = 5000, 4
"""Number of turn ids that one transaction covers, so that a search never holds the database for long, and of
transactions of one request; `next` continues with older ones.
"""
BEFORE, AFTER = 40, 120
"""Characters of an excerpt around the words."""
router = APIRouter(prefix="/api/search", tags=["conversations"])
Words = Annotated[str, Query(min_length=1, max_length=200, description="Text to find; case is ignored.")]


@router.get("")
@open_to(Role.MEMBER)
async def search(
    services: Services, by: By, q: Words, limit: Limit = 20, cursor: Cursor = ""
) -> schemas.SearchPage:
    """Search titles, messages and answers of the conversations that the caller may read. The first page has
    titles before messages and answers, which are listed newest first. A page can have fewer hits than
    `limit` although `next` is set.
    """
    words, before = q.strip(), parse_cursor(cursor)
    if not words:
        return schemas.SearchPage(hits=[], next=None)
    # Admins may also read conversations in the web console, by who owns them.
    accounts = accounts_with(services, by, Permission.READ)
    sees_own = accounts is not None and not accounts
    readable = local_chats.readable_turns(services, by) if sees_own else TurnFilter()
    hits: list[schemas.SearchHit] = []
    if not cursor:
        newest = await services.db.transact(list_turns, None, limit=1)
        before = newest[0].id + 1 if newest else 1
        owners = by.owner_ids if sees_own else None
        hits = await _present(services, by, await services.db.transact(find_titles, words, owners), words)
    hits, following = hits[:limit], before
    for _ in range(STEPS):
        room, first = limit - len(hits), max(0, following - STEP)
        if not room or following <= 1:
            break
        only = replace(readable, text=words, first=first)
        turns = await services.db.transact(list_turns, None, following, room, only)
        following = turns[-1].id if len(turns) == room else first
        texts = [hit for turn in turns for hit in _find_hits(turn, words)[:1]]
        hits += await _present(services, by, texts, words)
    return schemas.SearchPage(hits=hits, next=str(following) if following > 1 else None)


async def _present(
    services: ApiServices, by: Principal, found: list[Hit], words: str
) -> list[schemas.SearchHit]:
    """Return the hits in conversations that the caller may read, and record that other people's were."""
    known = await local_chats.find_all_visible(services, by, {hit.conversation for hit in found})
    for of in known.values():
        await record_conversation_read(services, by, of)
    return [_present_hit(known[hit.conversation], hit, words) for hit in found if hit.conversation in known]


def _find_hits(turn: TurnView, words: str) -> list[Hit]:
    """Return the messages and answers of a chat's turn that contain the words."""
    texts = [(HitPlace.MESSAGE, one.text) for one in turn.messages]
    texts += [(HitPlace.ANSWER, one.content) for one in turn.parts if one.kind is PartKind.TEXT]
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    found = [(place, text) for place, text in texts if turn.kind is TurnKind.CHAT and pattern.search(text)]
    return [Hit(turn.conversation, turn.id, place, text, turn.created_at) for place, text in found]


def _present_hit(of: ConversationView, hit: Hit, words: str) -> schemas.SearchHit:
    return schemas.SearchHit.model_validate(
        {
            "conversation": of.id,
            "turn": hit.turn or None,
            "title": of.title,
            "platform": of.platform,
            "account": of.key.account,
            "excerpt": excerpt(hit.text, words),
            "at": hit.at,
            "in": hit.place,
        }
    )


def excerpt(text: str, words: str) -> str:
    """Return one line of a text around the first place that has these words."""
    found = re.search(re.escape(words), text, re.IGNORECASE)
    start = max(0, found.start() - BEFORE) if found else 0
    end = (found.end() if found else 0) + AFTER
    line = " ".join(text[start:end].split())
    return ("…" if start else "") + line + ("…" if end < len(text) else "")
