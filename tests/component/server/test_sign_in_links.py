"""Signing in at the page by a link out of the chat."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from bot.config.models import ServerConfig
from bot.server.api.sessions import COOKIE as TOKENS
from bot.server.api.sessions import PERSON_COOKIE
from bot.store.connection import Statement
from tests.platforms.web.people import CHATS, code_for, give, signed_in
from tests.platforms.web.serving import World, world

TOKEN = "W6hZt3-nF8kB5_qY1rDs9v-Xc4Lm"
DUMP = Statement(
    "SELECT * FROM page_sessions UNION ALL SELECT hash, person, sender, expires_at FROM page_codes"
)
AGE = Statement("UPDATE page_codes SET expires_at = expires_at - 601")
OUTLIVE = Statement("UPDATE page_sessions SET expires_at = expires_at - 604801")
NOT_GOOD = "This link has expired or was already used"


async def enter(service: World, code: str) -> httpx.Response:
    async with httpx.AsyncClient(verify=False, base_url=service.url) as client:
        return await client.post("/api/session", json={"code": code})


async def test_a_code_is_exchanged_once_for_a_cookie(tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        code = await code_for(service)
        answer = await enter(service, code)
        assert answer.status_code == 204
        [given, forgotten] = answer.headers.get_list("set-cookie")
        assert given.startswith(f"{PERSON_COOKIE}=")
        assert {"HttpOnly", "SameSite=strict", "Max-Age=604800"} <= set(given.split("; "))
        assert forgotten.startswith(f'{TOKENS}=""')
        assert code not in given
        again = await enter(service, code)
        assert again.status_code == 401
        assert NOT_GOOD in again.text
        held = service.service.db
        rows = await held.transact(lambda connection: repr(connection.execute(DUMP).all()))
        assert code not in rows
        assert answer.cookies[PERSON_COOKIE] not in rows


async def test_a_code_ends_with_its_time_and_with_the_next_one(tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        former = await code_for(service)
        late = await code_for(service)
        assert (await enter(service, former)).status_code == 401
        await service.service.db.transact(lambda connection: connection.execute(AGE))
        assert (await enter(service, late)).status_code == 401
        assert (await enter(service, await code_for(service))).status_code == 204


async def test_who_has_no_role_any_more_does_not_come_in(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await give(service, "telegram:7", "blocked")
        answer = await enter(service, await code_for(service))
        assert answer.status_code == 403
        assert PERSON_COOKIE not in answer.cookies


async def test_a_role_is_asked_for_each_time(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        for role, seen in (("member", 403), ("admin", 200), ("owner", 200), ("member", 403)):
            await give(service, "telegram:7", role)
            assert (await ann.get("/api/channels")).status_code == seen
            assert (await ann.get("/api/session")).json()["role"] == role


async def test_signing_out_ends_the_session_wherever_its_cookie_is(tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service, signed_in(service) as ann:
        copied = dict(ann.cookies)
        assert (await ann.get("/api/conversations")).status_code == 200
        assert (await ann.delete("/api/session")).status_code == 204
        assert PERSON_COOKIE not in ann.cookies
        async with httpx.AsyncClient(verify=False, base_url=service.url, cookies=copied) as thief:
            answer = await thief.get("/api/conversations")
            assert answer.status_code == 401
            assert "command `page`" in answer.text
            assert "app/sign-in.js" in (await thief.get("/")).text
        deeds = [(one["person"], one["action"]) for one in await service.audited()]
        assert deeds[:2] == [("telegram:7", "signed out"), ("telegram:7", "signed in")]


async def test_a_session_ends_with_its_time(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        await service.service.db.transact(lambda connection: connection.execute(OUTLIVE))
        assert (await ann.get("/api/session")).status_code == 401
        assert (await ann.get("/api/conversations")).status_code == 401


async def test_a_persons_session_is_nobody_elses(tmp_path: Path) -> None:
    """A person's cookie stands for that person or for nobody, also beside the owner's."""
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        assert (await service.http.get("/api/session")).json() == {
            "person": "web:owner",
            "name": "",
            "role": "owner",
            "how": "token",
            "account": "web",
        }
        assert (await ann.get("/api/channels")).status_code == 403
        await give(service, "telegram:7", "blocked")
        for path in ("/api/channels", "/api/conversations", "/api/session"):
            assert (await ann.get(path)).status_code == 401, path
        async with httpx.AsyncClient(verify=False, base_url=service.url) as owner:
            assert (await owner.post("/api/session", json={"token": service.token})).status_code == 204
            assert (await owner.get("/api/conversations")).status_code == 200
            owner.cookies.set(PERSON_COOKIE, "forged")
            assert (await owner.get("/api/conversations")).status_code == 401
        assert (await ann.delete("/api/session")).status_code == 204
        assert (await ann.get("/api/session")).status_code == 401


async def test_the_token_counts_before_a_cookie(tmp_path: Path) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service, signed_in(service) as ann:
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert (await ann.get("/api/session", headers=headers)).json()["how"] == "token"
        wrong = {"authorization": "Bearer another"}
        assert (await ann.get("/api/conversations", headers=wrong)).status_code == 401
        answer = await ann.post("/api/session", json={"token": TOKEN})
        assert answer.status_code == 204
        assert PERSON_COOKIE not in ann.cookies
        assert (await ann.get("/api/session")).json()["role"] == "owner"


@pytest.mark.parametrize("body", [{}, {"token": TOKEN, "code": "x"}, {"code": None}, {"code": "x" * 300}])
async def test_either_is_given(tmp_path: Path, body: dict[str, str]) -> None:
    async with world(tmp_path, server=f", token: {TOKEN}") as service:
        assert (await service.http.post("/api/session", json=body)).status_code == 422


async def test_the_public_address_is_served_and_its_cookie_is_secure(tmp_path: Path) -> None:
    server = f", token: {TOKEN}, public_url: 'https://Bot.example.org/'"
    async with world(tmp_path, server=server, extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        headers = {"host": "bot.example.org", "origin": "https://bot.example.org"}
        body = {"code": await code_for(service)}
        answer = await service.http.post("/api/session", json=body, headers=headers)
        assert answer.status_code == 204
        assert "Secure" in answer.headers.get_list("set-cookie")[0]


@pytest.mark.parametrize(
    "url", ["https://a.example/page", "https://a.example?x=1", "https://u@a.example", "ftp://a.example"]
)
def test_the_public_address_is_a_root(url: str) -> None:
    with pytest.raises(ValidationError):
        ServerConfig(public_url=url)


async def test_the_account_that_somebody_came_from_is_gone(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        core = service.service.core
        channels = {name: one for name, one in core.config.channels.items() if name != "tg"}
        core.apply_config(core.config.model_copy(update={"channels": channels}))
        assert (await ann.get("/api/session")).status_code == 401
