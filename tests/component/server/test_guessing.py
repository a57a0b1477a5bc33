"""Guessing credentials from one address stops, and concerns nobody at another address."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest

from agent.shared.tls import tls_context
from bot.platforms.base import WebhookAnswer
from bot.server.api.credential_attempts import AUDITED_PER_HOUR, CredentialAttempts
from bot.store.audit import AuditEvent
from roebot_testing.clock import ManualClock
from tests.platforms.web.people import CHATS, code_for, give
from tests.platforms.web.serving import World, world

TOKEN = "K7vRb2-wQ9mX4_tZ6pLs8y-Hd3Nf"
RIGHT, WRONG = {"authorization": f"Bearer {TOKEN}"}, {"authorization": "Bearer guess"}
GUESSER, OTHER = "192.0.2.66", "192.0.2.7"


class Visitor:
    """A client at an address, as a trusted proxy reports it ("": without a proxy)."""

    def __init__(self, service: World, address: str) -> None:
        self._service = service
        self._proxied = {"x-forwarded-for": address} if address else {}
        self.cookies = httpx.Cookies()

    async def send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, json: object = None
    ) -> httpx.Response:
        sent = {**self._proxied, **(headers or {})}
        transport = httpx.AsyncHTTPTransport(verify=tls_context())
        async with httpx.AsyncClient(
            transport=transport, base_url=self._service.url, cookies=self.cookies
        ) as http:
            answer = await http.request(method, path, headers=sent, json=json)
            self.cookies.update(http.cookies)
        return answer

    async def bearer(self, headers: dict[str, str]) -> int:
        return (await self.send("GET", "/api/turns", headers=headers)).status_code

    async def sign_in(self, **body: str) -> int:
        return (await self.send("POST", "/api/session", json=body)).status_code

    async def pair(self, code: str) -> int:
        body = {"code": code}
        return (await self.send("POST", "/api/access/pair", json=body, headers=RIGHT)).status_code


@asynccontextmanager
async def guarded(home: Path, *, trusted: str = "[127.0.0.1]", extra: str = "") -> AsyncIterator[World]:
    server = f", token: {TOKEN}, trusted_proxies: {trusted}"
    async with world(home, server=server, extra=extra) as service:
        yield service


@pytest.mark.guard(
    "bot: an address that guessed has to wait",
    "bot/server/api/credential_attempts.py",
    "        if wait and (guessable or not client.is_local):",
    "        if False:",
    against="guessing",
)
async def test_a_bearer_token_cannot_be_guessed_on_and_on(tmp_path: Path) -> None:
    async with guarded(tmp_path) as service:
        guesser, other = Visitor(service, GUESSER), Visitor(service, OTHER)
        assert await guesser.sign_in(token=TOKEN) == 204
        session = dict(guesser.cookies)
        guesser.cookies.clear()
        assert Counter([await guesser.bearer(WRONG) for _ in range(14)]) == {401: 10, 429: 4}
        refused = await guesser.send("GET", "/api/turns", headers=RIGHT)
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "Too many wrong credentials" in refused.json()["detail"]
        assert await guesser.sign_in(token=TOKEN) == 429
        assert await other.bearer(RIGHT) == 200
        guesser.cookies.update(session)
        assert await guesser.bearer({}) == 200, "a session that exists stays valid"


async def test_guesses_at_once_are_not_more_than_one_after_the_other(tmp_path: Path) -> None:
    async with guarded(tmp_path) as service:
        guesser = Visitor(service, GUESSER)
        statuses = await asyncio.gather(*(guesser.bearer(WRONG) for _ in range(40)))
        assert Counter(statuses) == {401: 10, 429: 30}


async def test_the_key_of_langgraph_clients_is_limited_too(tmp_path: Path) -> None:
    async with guarded(tmp_path) as service:
        guesser = Visitor(service, GUESSER)
        for _ in range(10):
            assert await guesser.bearer({"x-api-key": "guess"}) == 401
        assert await guesser.bearer({"x-api-key": TOKEN}) == 429


@pytest.mark.guard(
    "bot: sign-in links are limited",
    "bot/server/api/sign_in.py",
    "await attempts.check(request.scope, CredentialKind.LINK, partial(known.redeem, code))",
    "await known.redeem(code)",
    against="guessing",
)
async def test_a_link_cannot_be_guessed_and_stays_good_elsewhere(tmp_path: Path) -> None:
    async with guarded(tmp_path, extra=CHATS) as service:
        await give(service, "telegram:7", "member")
        code = await code_for(service)
        guesser = Visitor(service, GUESSER)
        assert Counter([await guesser.sign_in(code=f"guess-{n}") for n in range(12)]) == {401: 10, 429: 2}
        assert await guesser.sign_in(code=code) == 429
        assert await guesser.bearer(RIGHT) == 200, "tokens are counted apart"
        assert await Visitor(service, OTHER).sign_in(code=code) == 204


@pytest.mark.guard(
    "bot: pairing codes are limited",
    "bot/features/people/routes.py",
    "await attempts.check(\n"
    "        request.scope, CredentialKind.PAIRING_CODE, approve, detail=by.person, guessable=True\n"
    "    )",
    "await approve()",
    against="guessing",
)
async def test_pairing_codes_are_limited_for_who_guesses(tmp_path: Path) -> None:
    async with guarded(tmp_path) as service:
        guesser, other = Visitor(service, GUESSER), Visitor(service, OTHER)
        assert [await guesser.pair(f"AAAA-AAA{n}") for n in range(7)] == [404] * 5 + [429] * 2
        assert await other.pair("AAAA-AAAA") == 404


@pytest.mark.guard(
    "bot: other users of the machine cannot lock out its owner",
    "bot/server/api/credential_attempts.py",
    "        if wait and (guessable or not client.is_local):",
    "        if wait:",
    against="guessing",
)
async def test_other_users_of_this_machine_cannot_lock_out_its_owner(tmp_path: Path) -> None:
    async with guarded(tmp_path) as service:
        here = Visitor(service, "")
        assert Counter([await here.bearer(WRONG) for _ in range(14)]) == {401: 10, 429: 4}
        assert await here.bearer(RIGHT) == 200
        assert await here.sign_in(token=TOKEN) == 204
        assert await here.bearer(WRONG) == 429


@pytest.mark.guard(
    "bot: a weak token is limited on this machine too",
    "bot/server/api/sessions.py",
    "find, guessable=self._token.is_weak)",
    "find, guessable=False)",
    against="guessing",
)
async def test_a_weak_token_is_limited_on_this_machine_too(tmp_path: Path) -> None:
    async with world(tmp_path, server=", token: short-token") as service:
        here = Visitor(service, "")
        assert Counter([await here.bearer(WRONG) for _ in range(12)]) == {401: 10, 429: 2}
        assert await here.sign_in(token="short-token") == 429


async def test_a_header_of_a_stranger_changes_no_address(tmp_path: Path) -> None:
    async with guarded(tmp_path, trusted="[]") as service:
        statuses = [await Visitor(service, f"198.51.100.{n}").bearer(WRONG) for n in range(14)]
        assert Counter(statuses) == {401: 10, 429: 4}
        assert await Visitor(service, OTHER).bearer(RIGHT) == 429, "it came through a proxy, so not from here"


@pytest.mark.guard(
    "bot: the audit log does not grow with every guess",
    "bot/server/api/credential_attempts.py",
    "        if failure.is_first or failure.locks:",
    "        if True:",
    against="guessing",
)
async def test_guesses_are_counted_and_audited_without_end_or_secrets(tmp_path: Path) -> None:
    async with guarded(tmp_path) as service:
        guesser, other = Visitor(service, GUESSER), Visitor(service, OTHER)
        for _ in range(30):
            await guesser.bearer(WRONG)
        entries = await service.audited()
        found = [(one["action"], one["subject"], one["detail"]) for one in entries]
        assert found == [
            ("guessing stopped", "token", f"address {GUESSER}"),
            ("wrong credential", "token", f"address {GUESSER}"),
        ]
        metrics = (await other.send("GET", "/metrics", headers=RIGHT)).text
        assert 'roebot_credential_failures_total{credential="token"} 10.0' in metrics
        assert 'roebot_credential_refusals_total{credential="token"} 20.0' in metrics


@pytest.mark.guard(
    "bot: the audit log does not grow with every address",
    "bot/server/api/credential_attempts.py",
    "if is_known or self._audited > AUDITED_PER_HOUR:",
    "if is_known:",
    against="guessing",
)
async def test_many_addresses_do_not_fill_the_audit_log(tmp_path: Path) -> None:
    async with guarded(tmp_path) as service:
        for number in range(AUDITED_PER_HOUR + 20):
            await Visitor(service, f"198.51.100.{number}").bearer(WRONG)
        assert len(await service.audited(200)) == AUDITED_PER_HOUR


async def test_a_signature_is_checked_whatever_its_address_sent_before() -> None:
    audited: list[str] = []

    async def record(event: AuditEvent) -> None:
        audited.append(event.action)

    async def find(answer: WebhookAnswer | None) -> WebhookAnswer | None:
        checked.append(answer)
        return answer

    checked: list[WebhookAnswer | None] = []
    attempts = CredentialAttempts(ManualClock(), record)
    scope = {"type": "http", "headers": [], "client": (GUESSER, 1)}
    answers = [*[None] * 50, WebhookAnswer(200)]
    for answer in answers:
        await attempts.check_signature(scope, partial(find, answer), detail="slack")
    assert checked == answers
    failures, _ = attempts.collect_metrics()
    assert {one.labels["credential"]: one.value for one in failures.samples}["webhook"] == 50
    assert audited == ["wrong credential", "guessing stopped"]
