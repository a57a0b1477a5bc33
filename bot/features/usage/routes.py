"""Routes for token usage: in total, by person, by day and of a conversation."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, timedelta
from io import StringIO
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from bot.access import Permission, Role
from bot.features.usage.usage_store import (
    UsageKey,
    UsageShare,
    break_down_usage,
    list_person_usage,
    load_person_usage,
    sum_usage,
)
from bot.server.api import dependencies, local_chats, schemas
from bot.server.api.auth import By, Principal, accounts_with, may, open_to
from bot.server.api.dependencies import DAYS, DEFAULT, ApiServices, Days, Limit, Names, Services, period_start
from bot.server.api.display_names import name_person, name_place, texts_of
from bot.server.api.errors import not_found
from bot.store.connection import Accounts, Connection
from bot.store.conversations import load_conversations
from bot.store.names import load_person_names

Id = Annotated[int, Path(ge=1, lt=2**53)]
EPOCH = date(1970, 1, 1)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# The length is bounded here, because platforms do not limit the length of their ids.
Person = Annotated[str, Query(max_length=256, description="Return only this person's usage.")]
router = APIRouter(prefix="/api/usage", tags=["usage"])
conversation_router = APIRouter(prefix="/api/conversations", tags=["conversations"])


@router.get("")
@open_to(Role.MEMBER)
async def get_usage(
    services: Services,
    by: By,
    days: Days = DAYS,
    person: Person = "",
    limit: Limit = DEFAULT,
    cursor: Names = "",
) -> schemas.UsageReport:
    """Return the tokens used in recent days, by everyone or by one person (`platform:id`); members see only
    their own usage, admins that of their accounts.
    """
    begin, person = period_start(services, days), _person_filter(services, by, person)
    accounts = _visible_accounts(services, by, person)
    if person:
        found = [await services.db.transact(load_person_usage, begin, person, accounts)]
    else:
        found = await services.db.transact(list_person_usage, begin, cursor, limit, accounts)
    total = await services.db.transact(sum_usage, begin, person or None, accounts=accounts)
    following = found[-1].person if not person and len(found) == limit else None
    texts = texts_of(services, by)
    names = {one.person: name_person(services, texts, one.person, one.name) for one in found}
    people = [
        schemas.PersonUsage(person=one.person, name=names[one.person], **asdict(one.spending))
        for one in found
    ]
    return schemas.UsageReport(since=begin, total=total, people=people, next=following)


@router.get("/breakdown", response_model=schemas.UsageBreakdown)
@open_to(Role.MEMBER)
async def get_usage_breakdown(
    services: Services,
    by: By,
    key: Annotated[UsageKey, Query(alias="by")] = UsageKey.DAY,
    days: Days = DAYS,
    person: Person = "",
    ahead: dependencies.Ahead = 0,
    form: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> schemas.UsageBreakdown | Response:
    """Return the tokens used in recent days, today included, by day, model, person, account or chat, as JSON
    or CSV; members see only their own usage, admins that of their accounts.
    """
    begin, person = dependencies.day_start(services, ahead, days), _person_filter(services, by, person)
    accounts = _visible_accounts(services, by, person)

    def collect(connection: Connection) -> list[schemas.UsageRow]:
        found = break_down_usage(connection, key, begin, ahead * 60.0, person, accounts)
        names = load_person_names(connection, (one.key for one in found if key is UsageKey.PERSON))
        places = load_conversations(connection, (one.conversation for one in found if key is UsageKey.CHAT))
        texts = texts_of(services, by)

        def name(one: UsageShare) -> str:
            if key is UsageKey.CHAT:
                return name_place(services, by, places[one.conversation])
            if key is UsageKey.PERSON:
                return name_person(services, texts, one.key, names.get(one.key, ""))
            return (EPOCH + timedelta(days=int(one.key))).isoformat() if key is UsageKey.DAY else one.key

        return [schemas.UsageRow(key=one.key, name=name(one), **asdict(one.spending)) for one in found]

    rows = await services.db.transact(collect)
    if form == "json":
        return schemas.UsageBreakdown(since=begin, rows=rows)
    headers = {"content-disposition": f'attachment; filename="usage-by-{key}.csv"'}
    return Response(_write_csv(rows), media_type="text/csv; charset=utf-8", headers=headers)


def _write_csv(rows: Sequence[schemas.UsageRow]) -> str:
    """Return the rows as CSV. A spreadsheet must not take a name for a formula."""
    written = StringIO()
    table = csv.writer(written)
    table.writerow(schemas.UsageRow.model_fields)
    for row in rows:
        cells = row.model_dump().values()
        table.writerow([f"'{cell}" if str(cell).startswith(FORMULA) else cell for cell in cells])
    return written.getvalue()


@conversation_router.get("/{conversation}/usage")
@open_to(Role.MEMBER)
async def read_conversation_usage(
    conversation: Id, services: Services, by: By, days: Days = DAYS
) -> schemas.UsageTotals:
    """Return the token usage of a conversation in recent days."""
    of = await local_chats.visible_conversation(services, by, conversation)
    return schemas.UsageTotals.model_validate(
        await services.db.transact(sum_usage, period_start(services, days), conversation=of.id)
    )


def _person_filter(services: ApiServices, by: Principal, person: str) -> str:
    """Return the person whose usage is shown ("": everyone). Raises 404 if a member asks for another."""
    if may(services, by, Permission.USAGE):
        return person
    if person not in ("", by.person):
        raise not_found("person")
    return by.person


def _visible_accounts(services: ApiServices, by: Principal, person: str) -> Accounts:
    """Return the accounts whose usage is shown; the caller's own usage is shown for all."""
    return None if person == by.person else accounts_with(services, by, Permission.USAGE)
