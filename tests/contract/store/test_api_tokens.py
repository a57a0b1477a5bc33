"""API tokens in the store, on each database."""

from __future__ import annotations

from bot.store import Database
from bot.store.api_tokens import ApiToken, add_token, expire_roles, find_token, list_tokens, revoke_token
from bot.store.audit import Actor
from bot.store.people import list_role_grants

READER = ApiToken("grafana", "read", "web:owner", 100.0, 200.0)
WRITER = ApiToken("ci", "turns", "web:owner", 100.0, 300.0, role="member")


def actor(key: str) -> Actor:
    return Actor(key, "web:owner", "", "web", "")


async def test_tokens_are_found_by_hash_until_they_expire_or_are_revoked(db: Database) -> None:
    assert await db.transact(add_token, READER, "h1", actor("1"))
    assert await db.transact(add_token, WRITER, "h2", actor("2"))
    assert not await db.transact(add_token, WRITER, "h3", actor("3"))
    assert await db.transact(list_tokens) == [WRITER, READER]
    assert (await db.transact(find_token, "h2", 150.0)) == WRITER
    assert [one.used_at for one in await db.transact(list_tokens)] == [150.0, 0.0]
    await db.transact(find_token, "h2", 209.0)
    assert [one.used_at for one in await db.transact(list_tokens)] == [150.0, 0.0]
    await db.transact(find_token, "h2", 210.0)
    assert [one.used_at for one in await db.transact(list_tokens)] == [210.0, 0.0]
    assert await db.transact(find_token, "h1", 200.0) is None
    assert await db.transact(expire_roles, 299.0) == 0
    assert [one.entry for one in await db.transact(list_role_grants)] == ["token:ci"]
    assert await db.transact(expire_roles, 300.0) == 1
    assert await db.transact(list_role_grants) == []
    assert await db.transact(revoke_token, "grafana", actor("4"), 150.0)
    assert not await db.transact(revoke_token, "grafana", actor("5"), 150.0)
    assert await db.transact(find_token, "h1", 150.0) is None
