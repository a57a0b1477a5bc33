"""Tokens of the runtime and of a sandbox service cannot be guessed from one address on and on."""

from __future__ import annotations

from collections import Counter

import httpx
import pytest
from starlette.responses import PlainTextResponse

from agent.shared.failure_limit import FailureLimiter
from agent.shared.http_guard import HttpGuard, attach_client, token_required
from agent.shared.live_token import LiveToken

TOKEN = "P3kXd9-zV6nQ2_rW8mTb5y-Gf7Lc"
RIGHT, WRONG = {"x-api-key": TOKEN}, {"authorization": "Bearer guess"}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Served:
    """A guarded application, as clients at several addresses reach it."""

    def __init__(self, token: str = TOKEN) -> None:
        self.clock = Clock()
        check = token_required(LiveToken(token), FailureLimiter(self.clock), open_paths={"/ok"})
        self._app = HttpGuard(PlainTextResponse("ok"), [attach_client(), check])

    async def get(
        self, address: str, headers: dict[str, str] | None = None, path: str = "/threads"
    ) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.get(path, headers=headers)

    async def statuses(self, address: str, headers: dict[str, str], times: int) -> Counter[int]:
        return Counter([(await self.get(address, headers)).status_code for _ in range(times)])


@pytest.mark.guard(
    "runtime: an address that guessed has to wait",
    "agent/shared/http_guard.py",
    "    wait = failures.retry_after(client.host)",
    "    wait = 0",
    against="guessing",
)
async def test_a_token_cannot_be_guessed_on_and_on() -> None:
    served = Served()
    assert await served.statuses("192.0.2.66", WRONG, 14) == {401: 10, 429: 4}
    refused = await served.get("192.0.2.66", RIGHT)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert (await served.get("192.0.2.7", RIGHT)).status_code == 200
    assert (await served.get("192.0.2.66", path="/ok")).status_code == 200
    served.clock.now += 60
    assert (await served.get("192.0.2.66", RIGHT)).status_code == 200


async def test_a_request_without_a_token_is_no_guess() -> None:
    served = Served()
    assert await served.statuses("192.0.2.66", {}, 14) == {401: 14}
    assert (await served.get("192.0.2.66", RIGHT)).status_code == 200


async def test_a_strong_token_stays_good_on_this_machine() -> None:
    served = Served()
    assert await served.statuses("127.0.0.1", WRONG, 14) == {401: 10, 429: 4}
    assert (await served.get("127.0.0.1", RIGHT)).status_code == 200
    assert (await served.get("127.0.0.1", {**RIGHT, "x-forwarded-for": "::1"})).status_code == 429


async def test_a_weak_token_is_limited_on_this_machine_too() -> None:
    served = Served("short")
    await served.statuses("127.0.0.1", WRONG, 10)
    assert (await served.get("127.0.0.1", {"x-api-key": "short"})).status_code == 429


async def test_a_refusal_names_the_headers_that_carry_the_token() -> None:
    served = Served()
    for headers in (WRONG, {}):
        refused = await served.get("192.0.2.66", headers)
        assert refused.status_code == 401
        assert "Authorization: Bearer or X-Api-Key" in refused.json()["detail"]
