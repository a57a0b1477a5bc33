"""API tokens: what each scope allows, and when a token stops working."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.shared.tls import tls_context
from bot.app.home import write_service_file
from bot.app.http_server import api_services
from bot.app.service import BotService
from bot.cli.token_commands import create_api_token, list_api_tokens, revoke_api_token
from bot.clock import SystemClock
from bot.errors import StartError
from bot.server.api.app import create_app
from bot.store.api_tokens import expire_roles
from bot.store.connection import Statement
from tests.features.access_table import Access
from tests.features.attackers import MAY, attacked
from tests.features.test_access_table import attack, call, doors_in_order, use
from tests.harness.store_templates import open_store
from tests.platforms.web.people import CHATS, give
from tests.platforms.web.serving import World, serving, world

DUMP = Statement("SELECT * FROM api_tokens")
EXPIRE = Statement("UPDATE api_tokens SET expires_at = 1")
SET_USED = Statement("UPDATE api_tokens SET used_at = :at")
READ_ROLES = Statement("SELECT entry FROM roles")


async def create(service: World, scope: str, name: str = "ci") -> dict[str, Any]:
    """A new token."""
    answer = await service.http.post("/api/tokens", json={"name": name, "scope": scope, "expires_days": 90})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


@asynccontextmanager
async def program(url: str, token: str, header: str = "authorization") -> AsyncIterator[httpx.AsyncClient]:
    """A client with an API token."""
    value = f"Bearer {token}" if header == "authorization" else token
    async with httpx.AsyncClient(
        verify=tls_context(), base_url=url, timeout=20, headers={header: value}
    ) as client:
        yield client


@asynccontextmanager
async def other_process(service: World) -> AsyncIterator[str]:
    """The port of another process with the same database."""
    database = await open_store(service.home)
    try:
        other = BotService(service.service.settings, database, SystemClock())
        await other.core.load_settings()
        # Both are behind the address of the service.
        other.core.address = service.service.core.address
        async with serving(create_app(api_services(other, port=0))) as (url, _):
            yield url
    finally:
        await database.close()


async def rows(service: World, statement: Statement) -> list[Any]:
    return list(await service.service.db.transact(lambda connection: connection.execute(statement).all()))


@pytest.mark.guard(
    "the secrets of API tokens are not stored",
    "bot/server/api/api_tokens.py",
    "add_token, one, hash_secret(secret),",
    "add_token, one, secret,",
    against="misused API tokens",
)
async def test_a_token_is_shown_once_and_only_its_hash_is_stored(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        made = await create(service, "read")
        assert made["token"].startswith("roebot_")
        listed = await service.http.get("/api/tokens")
        assert made["expires_at"] - listed.json()[0]["created_at"] == 90 * 86_400
        assert [one["name"] for one in listed.json()] == ["ci"]
        assert made["token"] not in listed.text + repr(await rows(service, DUMP))
        for header in ("authorization", "x-api-key"):
            async with program(service.url, made["token"], header) as client:
                who = (await client.get("/api/session")).json()
                assert who == {
                    **{"person": "token:ci", "name": "ci", "role": "admin"},
                    **{"how": "api_token", "account": "token"},
                }


@pytest.mark.parametrize(
    "wrong",
    [
        *({"expires_days": days} for days in (0, 367, None)),
        *({"name": name} for name in ("", "-x", "a b", "a:b", "x" * 65, "ci\n")),
        {"scope": "owner"},
    ],
)
async def test_a_token_needs_a_name_a_scope_and_an_expiry_within_a_year(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async with world(tmp_path) as service:
        body = {"name": "ci", "scope": "read", "expires_days": 366, **wrong}
        assert (await service.http.post("/api/tokens", json=body)).status_code == 422
        assert (await service.http.get("/api/tokens")).json() == []


async def test_a_name_is_used_once_until_it_is_revoked(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await create(service, "turns")
        again = await service.http.post(
            "/api/tokens", json={"name": "ci", "scope": "read", "expires_days": 1}
        )
        assert (again.status_code, "revoke that token first" in again.text) == (409, True)
        assert (await service.http.delete("/api/tokens/ci")).status_code == 204
        assert (await service.http.delete("/api/tokens/ci")).status_code == 404
        await create(service, "read")
        assert [one["scope"] for one in (await service.http.get("/api/tokens")).json()] == ["read"]


@pytest.mark.guard(
    "a token with the scope read changes nothing",
    "bot/server/api/auth.py",
    "if by.only is not None and request.method not in SAFE_METHODS:",
    "if False:",
    against="misused API tokens",
)
@pytest.mark.guard(
    "a token with the scope read has no other permissions",
    "bot/access/permissions.py",
    "if caller.only is not None and permission not in caller.only:",
    "if False:",
    against="misused API tokens",
)
async def test_reading_is_all_that_a_token_to_read_may_do(tmp_path: Path) -> None:
    async with attacked(tmp_path) as at:
        before = await at.snapshot()
        made = await create(at.service, "read")
        async with program(at.service.url, made["token"]) as client:
            at.callers["everywhere"] = client
            refused: dict[str, int] = {}
            for door, access in doors_in_order():
                if access is Access.ANYONE:
                    continue
                status, _ = await call(at, "everywhere", door)
                if status in {403, 404}:
                    refused[door] = status
            assert {door for door, _ in doors_in_order() if not door.startswith("GET")} - set(refused) <= {
                door for door, access in doors_in_order() if access is Access.ANYONE
            }
            assert await at.snapshot() == before
            readable = {"GET /api/turns", "GET /api/audit", "GET /metrics", "GET /api/usage"}
            assert readable.isdisjoint(refused)
            closed = {"GET /api/settings", "GET /api/access", "GET /api/people/{person}/data"}
            assert closed <= set(refused)
            assert {door for door in refused if door.startswith("GET /api/tokens")}


@pytest.mark.parametrize(
    ("scope", "like"), [pytest.param("turns", "member", marks=pytest.mark.long), ("admin", "everywhere")]
)
async def test_a_token_opens_the_same_doors_as_a_person(tmp_path: Path, scope: str, like: str) -> None:
    async with attacked(tmp_path) as at:
        before = await at.snapshot()
        made = await create(at.service, scope)
        async with program(at.service.url, made["token"]) as client:
            at.callers[like] = client
            closed = {door: access for door, access in doors_in_order() if like not in MAY[access]}
            assert await attack(at, like, closed) == []
            after = await at.snapshot()
            granted = after["/api/access"]["given"]
            assert [one["entry"] for one in granted if one["entry"] == "token:ci"] == ["token:ci"]
            after["/api/access"]["given"] = [one for one in granted if one["entry"] != "token:ci"]
            assert after == before
            opened = [door for door, access in doors_in_order() if like in MAY[access]]
            assert await use(at, like, opened) == []


async def test_a_token_for_turns_talks_to_the_agent_in_its_own_conversations(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        owners = await service.open()
        made = await create(service, "turns")
        async with program(service.url, made["token"]) as client:
            mine = replace(service, http=client)
            conversation = await mine.open()
            turn = await mine.turn((await mine.say(conversation, "hello"))["turn"])
            assert turn["state"] == "done"
            assert "hello" in turn["parts"][0]["text"]
            assert (await client.get(f"/api/conversations/{owners}")).status_code == 404
            promoted = await mine.turn((await mine.say(conversation, "/role telegram:1 owner"))["turn"])
            assert "telegram:1" not in repr(await rows(service, READ_ROLES)), promoted
        events = await service.audited()
        assert ("web:owner", "API token created", "token:ci", "turns") in {
            (one["person"], one["action"], one["subject"], one["detail"]) for one in events
        }


@pytest.mark.parametrize("end", ["revoked", "expired", "role revoked"])
async def test_a_token_stops_working_at_once_at_every_process(tmp_path: Path, end: str) -> None:
    async with world(tmp_path, extra=CHATS) as service, other_process(service) as elsewhere:
        made = await create(service, "read" if end != "role revoked" else "turns")
        async with program(service.url, made["token"]) as here, program(elsewhere, made["token"]) as there:
            assert (await here.get("/api/session")).status_code == 200
            assert (await there.get("/api/session")).status_code == 200
            if end == "revoked":
                assert (await service.http.delete("/api/tokens/ci")).status_code == 204
            elif end == "expired":
                await service.service.db.transact(lambda connection: connection.execute(EXPIRE))
            else:
                assert (await service.http.delete("/api/access/token:ci")).status_code == 204
            assert (await here.get("/api/session")).status_code == 401
            assert (await there.get("/api/session")).status_code == 401


@pytest.mark.guard(
    "a stream ends when its API token is revoked",
    "bot/server/api/sessions.py",
    "return await find_token_caller(self._services, caller.session)",
    "return caller",
    against="misused API tokens",
)
async def test_a_stream_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        made = await create(service, "turns")
        async with program(service.url, made["token"]) as client:
            mine = replace(service, http=client)
            conversation = await mine.open()
            async with mine.events(conversation) as events:
                assert (await anext(events))[0] == "snapshot"
                assert (await service.http.delete("/api/tokens/ci")).status_code == 204
                assert [name async for name, _ in events if name not in {"turn", "ping"}] == []


async def test_the_role_of_an_expired_token_ends_with_it(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        await create(service, "turns")
        assert [row.entry for row in await rows(service, READ_ROLES)] == ["token:ci"]
        db, now = service.service.db, service.service.clock.now()
        assert await db.transact(expire_roles, now) == 0
        assert await db.transact(expire_roles, now + 90 * 86_400) == 1
        assert await rows(service, READ_ROLES) == []


async def test_the_last_use_is_recorded_once_a_minute(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        made = await create(service, "read")

        async def used_at() -> float:
            return float((await service.http.get("/api/tokens")).json()[0]["used_at"])

        assert await used_at() == 0
        async with program(service.url, made["token"]) as client:
            await client.get("/api/session")
            first = await used_at()
            assert first >= made["expires_at"] - 90 * 86_400
            await client.get("/api/session")
            assert await used_at() == first
            values = {"at": first - 61}
            await service.service.db.transact(lambda connection: connection.execute(SET_USED, values))
            await client.get("/api/session")
            assert await used_at() >= first


async def test_only_owners_manage_tokens(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        made = await create(service, "admin")
        async with program(service.url, made["token"]) as client:
            body = {"name": "more", "scope": "admin", "expires_days": 366}
            assert (await client.post("/api/tokens", json=body)).status_code == 403
            assert (await client.get("/api/tokens")).status_code == 403
            assert (await client.delete("/api/tokens/ci")).status_code == 403
            assert (await client.post("/api/session/links")).status_code == 403


@pytest.mark.guard(
    "a token has at most the role of its scope",
    "bot/server/api/api_tokens.py",
    "min(rule.role, granted)",
    "granted",
    against="misused API tokens",
)
async def test_a_role_that_is_granted_to_a_token_exceeds_its_scope_nowhere(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        made = await create(service, "turns")
        await give(service, "token:ci", "owner")
        async with program(service.url, made["token"]) as client:
            assert (await client.get("/api/session")).json()["role"] == "member"


async def test_guessing_tokens_is_limited_and_audited(tmp_path: Path) -> None:
    async with world(tmp_path) as service, program(service.url, "roebot_" + "0" * 40) as client:
        statuses = [(await client.get("/api/session")).status_code for _ in range(11)]
        assert statuses == [401] * 10 + [429]
        assert "guessing stopped" in {one["action"] for one in await service.audited()}


async def test_a_service_token_may_begin_like_an_api_token(tmp_path: Path) -> None:
    own = "roebot_K7vRb2-wQ9mX4_tZ6pLs8y-Hd3Nf"
    async with world(tmp_path, server=f", token: {own}") as service:
        assert (await service.http.get("/api/session")).json()["person"] == "web:owner"


async def test_the_command_line_creates_lists_and_revokes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with world(tmp_path) as service:
        await asyncio.to_thread(write_service_file, tmp_path, service.url, tmp_path / "config.yaml")
        capsys.readouterr()
        await asyncio.to_thread(create_api_token, tmp_path, None, "ci", "turns", "90d")
        printed, said = capsys.readouterr()
        assert len(printed.splitlines()) == 1
        assert printed.strip() not in said
        assert "API token ci (turns) expires " in said
        async with program(service.url, printed.strip()) as client:
            assert (await client.get("/api/session")).json()["person"] == "token:ci"
        await asyncio.to_thread(list_api_tokens, tmp_path, None)
        listed = capsys.readouterr().out
        assert listed.startswith("ci: turns, expires 2")
        assert listed.endswith(", created by web:owner\n")
        for wrong in ("90", "1y", "-1d", ""):
            with pytest.raises(StartError, match="such as 90d"):
                await asyncio.to_thread(create_api_token, tmp_path, None, "x", "read", wrong)
        with pytest.raises(StartError, match="expires_days"):
            await asyncio.to_thread(create_api_token, tmp_path, None, "x", "read", "367d")
        await asyncio.to_thread(revoke_api_token, tmp_path, None, "ci")
        assert (await service.http.get("/api/tokens")).json() == []
        with pytest.raises(StartError, match="refused the request"):
            await asyncio.to_thread(revoke_api_token, tmp_path, None, "ci")
