"""The owner's sessions at the console: opened by token or link, ended by signing out and by a new token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from bot.server.api.sessions import COOKIE, PERSON_COOKIE
from bot.store.connection import Statement
from tests.platforms.web.people import CHATS, code_for, give, signed_in
from tests.platforms.web.serving import World, world

OTHER = "Hn6-Rt1_Vb8Xc3Kq9Lw5Gy2Jm7Sd4"
DUMP = Statement(
    "SELECT * FROM page_sessions UNION ALL SELECT hash, person, sender, expires_at FROM page_codes"
)
AGE = Statement("UPDATE page_codes SET expires_at = expires_at - 601")
OUTLIVE = Statement("UPDATE page_sessions SET expires_at = expires_at - 2592001")


@asynccontextmanager
async def browser(service: World) -> AsyncIterator[httpx.AsyncClient]:
    """A client that is not signed in."""
    async with httpx.AsyncClient(verify=False, base_url=service.url, timeout=20) as client:
        yield client


async def by_token(client: httpx.AsyncClient, service: World) -> None:
    answer = await client.post("/api/session", json={"token": service.token})
    assert answer.status_code == 204, answer.text


async def link(service: World) -> str:
    """The code of a new link."""
    answer = await service.http.post("/api/session/links")
    assert answer.status_code == 201, answer.text
    address, _, code = answer.json()["url"].partition("/#code=")
    assert address == service.service.core.address
    assert answer.json()["expires_at"] - service.service.clock.now() == pytest.approx(600, abs=5)
    assert service.token not in answer.text
    return str(code)


def rotate(service: World, token: str = OTHER) -> None:
    """What the service does when the file holds a new token."""
    live = service.service.settings.token
    live.value, live.generation = token, live.generation + 1


async def test_signing_in_with_the_token_opens_a_session_that_is_not_stored_in_plain(tmp_path: Path) -> None:
    async with world(tmp_path) as service, browser(service) as client:
        await by_token(client, service)
        key = client.cookies[COOKIE]
        assert (await client.get("/api/session")).json()["person"] == "web:owner"
        rows = await service.service.db.transact(lambda connection: repr(connection.execute(DUMP).all()))
        assert "web:owner" in rows
        assert key not in rows
        assert service.token not in rows
        await service.service.db.transact(lambda connection: connection.execute(OUTLIVE))
        assert (await client.get("/api/session")).status_code == 401


@pytest.mark.parametrize("value", ["", ".", "forged", "9999999999.0123456789abcdef", "x" * 5000, "é"])
async def test_a_forged_cookie_is_nobody(tmp_path: Path, value: str) -> None:
    async with world(tmp_path) as service, browser(service) as client:
        headers = [(b"cookie", f"{COOKIE}={value}".encode())]
        assert (await client.get("/api/session", headers=headers)).status_code == 401


@pytest.mark.guard(
    "signing out ends the session on the server",
    "bot/server/api/sign_in.py",
    "            await known.end_session(key)",
    "            continue",
    against="copied cookies",
)
async def test_signing_out_ends_the_session_wherever_its_cookie_is(tmp_path: Path) -> None:
    async with world(tmp_path) as service, browser(service) as client, browser(service) as other:
        await by_token(client, service)
        await by_token(other, service)
        copied = dict(client.cookies)
        assert (await client.delete("/api/session")).status_code == 204
        assert COOKIE not in client.cookies
        async with httpx.AsyncClient(verify=False, base_url=service.url, cookies=copied) as thief:
            assert (await thief.get("/api/conversations")).status_code == 401
            assert '/app/sign-in.js"' in (await thief.get("/")).text
        assert (await other.get("/api/conversations")).status_code == 200
        listed = await service.audited()
        deeds = [(one["person"], one["action"]) for one in listed]
        assert deeds[:3] == [("web:owner", "signed out"), *[("web:owner", "signed in")] * 2]


async def test_a_link_signs_the_owner_in_once(tmp_path: Path) -> None:
    async with world(tmp_path) as service, browser(service) as client, browser(service) as thief:
        code = await link(service)
        answer = await client.post("/api/session", json={"code": code})
        assert answer.status_code == 204
        assert PERSON_COOKIE not in client.cookies
        who = (await client.get("/api/session")).json()
        assert (who["person"], who["role"], who["account"]) == ("web:owner", "owner", "web")
        again = await thief.post("/api/session", json={"code": code})
        assert again.status_code == 401
        assert "expired or was already used" in again.text
        listed = await service.audited()
        assert [one["action"] for one in listed][:3] == ["wrong credential", "signed in", "page link"]


async def test_a_link_ends_with_its_time_with_the_next_one_and_with_the_token(tmp_path: Path) -> None:
    async with world(tmp_path) as service, browser(service) as client:
        former, late = await link(service), await link(service)
        assert (await client.post("/api/session", json={"code": former})).status_code == 401
        await service.service.db.transact(lambda connection: connection.execute(AGE))
        assert (await client.post("/api/session", json={"code": late})).status_code == 401
        bound = await link(service)
        rotate(service)
        assert (await client.post("/api/session", json={"code": bound})).status_code == 401


@pytest.mark.guard(
    "they get no session that outlives their role",
    "bot/server/api/sign_in.py",
    "    if not by.is_local_owner:",
    "    if False:",
    against="owners by role",
)
async def test_only_who_has_the_token_gets_a_link(tmp_path: Path) -> None:
    """A person with the role of an owner may lose it; a session of the service's owner would outlive that."""
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service, role="owner") as person,
        browser(service) as client,
    ):
        assert (await person.post("/api/session/links")).status_code == 403
        assert (await client.post("/api/session/links")).status_code == 401
        await by_token(client, service)
        assert (await client.post("/api/session/links")).status_code == 201


@pytest.mark.guard(
    "a new token ends the owner's sessions and links",
    "bot/access/one_time_codes.py",
    'f"roebot owner\\0{token}\\0{secret}"',
    'f"roebot owner\\0{secret}"',
    against="copied cookies",
)
async def test_a_new_token_ends_every_session_of_the_owner_and_no_other(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        browser(service) as client,
    ):
        await by_token(client, service)
        assert (await client.get("/api/conversations")).status_code == 200
        rotate(service)
        assert (await client.get("/api/conversations")).status_code == 401
        assert (await service.http.get("/api/conversations")).status_code == 401
        signed = {"X-Api-Key": OTHER}
        assert (await client.get("/api/conversations", headers=signed)).status_code == 200
        assert (await ann.get("/api/conversations")).status_code == 200


@pytest.mark.guard(
    "a new token ends open streams",
    "bot/server/api/sessions.py",
    "        if caller.is_local_owner and caller.generation != self._services.token.generation:",
    "        if False:",
    against="copied cookies",
)
@pytest.mark.parametrize("how", ["token", "session"])
async def test_a_new_token_ends_open_streams(tmp_path: Path, how: str) -> None:
    async with world(tmp_path) as service, browser(service) as client:
        if how == "session":
            await by_token(client, service)
        else:
            client.headers["x-api-key"] = service.token
        conversation = await service.open()
        async with client.stream("GET", f"/api/conversations/{conversation}/events") as answer:
            pieces = answer.aiter_text()
            while "snapshot" not in await anext(pieces):
                continue
            rotate(service)
            service.http.headers["authorization"] = f"Bearer {OTHER}"
            await service.say(conversation, "after the rotation")
            async with asyncio.timeout(20):
                assert "after the rotation" not in "".join([piece async for piece in pieces])


async def test_a_persons_key_is_no_owners_key(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, browser(service) as client:
        await give(service, "telegram:7", "member")
        answer = await client.post("/api/session", json={"code": await code_for(service)})
        key = answer.cookies[PERSON_COOKIE]
        client.cookies.clear()
        client.cookies.set(COOKIE, key)
        assert (await client.get("/api/session")).status_code == 401
        client.cookies.clear()
        await by_token(client, service)
        key = client.cookies[COOKIE]
        client.cookies.clear()
        client.cookies.set(PERSON_COOKIE, key)
        assert (await client.get("/api/session")).status_code == 401
