"""Route for the audit log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from bot.access import Permission
from bot.features.privacy.audit_sentences import describe_event
from bot.features.privacy.schemas import Audit, AuditEntryInfo
from bot.server.api.auth import LOCAL, By, Principal, accounts_with, requires
from bot.server.api.dependencies import DEFAULT, ApiServices, Cursor, Limit, Services, parse_cursor
from bot.server.api.display_names import name_entries, name_person, name_place, texts_of
from bot.server.api.text_search import Words, find_page
from bot.store.audit import AuditEntry, list_audit_entries
from bot.store.conversations import load_conversations

PERSON = re.compile(r"^(?:person:[^:]*|group):")
"""What stands before the person or group (`platform:id`, `account:chat`) whose memory was changed."""
CONVERSATION = re.compile(r"conversation (\d{1,15})")
router = APIRouter(prefix="/api", tags=["access"])
Person = Annotated[str, Query(max_length=256, description="Only events by or about this person.")]


@router.get("/audit")
@requires(Permission.AUDIT)
async def list_audit_events(
    services: Services,
    by: By,
    person: Person = "",
    q: Words = "",
    limit: Limit = DEFAULT,
    cursor: Cursor = "",
) -> Audit:
    """List audit events, newest first: of the accounts that the caller administers. With `q`, only those with
    these words in their sentence or account: a page can then have fewer than `limit` although `next` is set.
    """
    accounts = accounts_with(services, by, Permission.AUDIT)

    async def load(before: int, count: int) -> list[tuple[int, AuditEntryInfo, str]]:
        found = await services.db.transact(list_audit_entries, before, count, person, accounts)
        shown = await _describe(services, by, found)
        return [(one.id, one, f"{one.text}\n{one.account}") for one in shown]

    entries, following = await find_page(load, q, parse_cursor(cursor), limit)
    return Audit(entries=entries, next=following)


async def _describe(
    services: ApiServices, by: Principal, found: Sequence[AuditEntry]
) -> list[AuditEntryInfo]:
    """Return events in the API format, with sentences that name people and chats."""
    texts = texts_of(services, by)
    subjects = {one.deed.subject: CONVERSATION.fullmatch(one.deed.subject) for one in found}
    numbers = {subject: int(match[1]) for subject, match in subjects.items() if match}
    opened = await services.db.transact(load_conversations, numbers.values())
    people = {subject: PERSON.sub("", subject) for subject in subjects if ":" in subject}
    asked = {one.person for one in found} | set(people.values())
    names = await name_entries(services, asked)
    names |= {
        subject: texts("sentence_conversation", place=name_place(services, by, opened[number]))
        for subject, number in numbers.items()
        if number in opened
    }

    platforms = {one: one for one in (*LOCAL, *(offer.name for offer in services.core.accounts.offers()))}
    platforms |= {name: platform for name, (platform, _) in services.core.accounts.states().items()}

    def name(subject: str) -> str:
        scope, _, id_ = people.get(subject, "").partition(":")
        if scope not in platforms:
            return names.get(subject, "")
        return name_person(services, texts, f"{platforms[scope]}:{id_}", names.get(people[subject], ""))

    def describe(one: AuditEntry) -> str:
        who = name_person(services, texts, one.person, one.name or names.get(one.person, ""))
        return describe_event(texts, one.deed, who, name(one.deed.subject))

    return [AuditEntryInfo.model_validate(one).model_copy(update={"text": describe(one)}) for one in found]
