"""Creation of apps on the Feishu emulator: what the device flow refuses, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.people import ADA

BEGIN = {"action": "begin", "archetype": "PersonalAgent", "auth_method": "client_secret"}


class Registration:
    """A program that creates an app, and the emulator's clock."""

    def __init__(self, emulator: FeishuEmulator, http: httpx.AsyncClient) -> None:
        self.emulator = emulator
        self._http = http

    async def asks(self, **form: str) -> tuple[int, dict[str, Any]]:
        found = await self._http.post("/oauth/v1/app/registration", data=form)
        return found.status_code, found.json()

    async def error(self, **form: str) -> str:
        status, body = await self.asks(**form)
        assert (status, body["error_description"]) == (400, "")
        return str(body["error"])


class Seconds:
    """A monotonic clock that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
async def there(seconds: Seconds) -> AsyncIterator[Registration]:
    async with (
        FeishuEmulator.serve(monotonic=seconds) as emulator,
        httpx.AsyncClient(base_url=emulator.url, trust_env=False) as http,
    ):
        yield Registration(emulator, http)


async def test_an_app_is_created_once(there: Registration, seconds: Seconds) -> None:
    assert await there.asks(action="init") == (200, {"supported_auth_methods": ["client_secret"]})
    _, begun = await there.asks(**BEGIN)
    assert (begun["interval"], begun["expires_in"]) == (5, 600)
    poll = {"action": "poll", "device_code": begun["device_code"]}
    assert await there.error(**poll) == "authorization_pending"
    assert await there.error(**poll) == "slow_down"
    there.emulator.confirm_app(f"{begun['verification_uri_complete']}&name=Helper", user=ADA)
    seconds.now += 5
    status, created = await there.asks(**poll)
    assert status == 200
    assert created == {
        "client_id": there.emulator.app_id,
        "client_secret": there.emulator.app_secret,
        "user_info": {"open_id": ADA, "tenant_brand": "feishu"},
    }
    assert [one.name for one in there.emulator.registration.created] == ["Helper"]
    seconds.now += 5
    assert await there.error(**poll) == "invalid_grant", "the code is used up"


async def test_lark_answers_on_its_own_server(there: Registration) -> None:
    _, begun = await there.asks(**BEGIN)
    there.emulator.confirm_app(begun["verification_uri_complete"], brand="lark")
    poll = {"action": "poll", "device_code": begun["device_code"]}
    _, told = await there.asks(**poll)
    assert told["user_info"]["tenant_brand"] == "lark"
    assert "client_id" not in told
    assert (await there.asks(**poll))[1]["client_id"] == there.emulator.app_id


async def test_a_person_declines(there: Registration) -> None:
    _, begun = await there.asks(**BEGIN)
    there.emulator.decline_app(begun["verification_uri_complete"])
    assert await there.error(action="poll", device_code=begun["device_code"]) == "access_denied"


async def test_a_code_expires(there: Registration, seconds: Seconds) -> None:
    _, begun = await there.asks(**BEGIN)
    seconds.now += 600
    assert await there.error(action="poll", device_code=begun["device_code"]) == "expired_token"
    with pytest.raises(ValueError, match="link expired"):
        there.emulator.confirm_app(begun["verification_uri_complete"])


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"action": "end"},
        {**BEGIN, "archetype": "Robot"},
        {**BEGIN, "auth_method": "private_key_jwt"},
    ],
)
async def test_what_is_not_a_request_is_refused(there: Registration, form: dict[str, str]) -> None:
    assert await there.error(**form) == "invalid_request"


@pytest.mark.parametrize("query", ["&addons=e30", "&addons=%21", "&addons=H4sIAAAAAAAA"])
async def test_the_page_refuses_what_it_cannot_read(there: Registration, query: str) -> None:
    _, begun = await there.asks(**BEGIN)
    with pytest.raises(ValueError, match="addons cannot be read"):
        there.emulator.confirm_app(begun["verification_uri_complete"] + query)


async def test_the_page_knows_no_other_code(there: Registration) -> None:
    await there.asks(**BEGIN)
    with pytest.raises(ValueError, match="link expired"):
        there.emulator.confirm_app(f"{there.emulator.url}/page/launcher?user_code=USER-9999")
