"""Sign-on by `server.oidc`, against a strict provider, with the attacks on it."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import structlog
from pydantic import ValidationError
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse

from agent.shared.tls import tls_context
from bot.app.http_server import api_services
from bot.config.sign_on import OidcConfig
from bot.domain import Sender
from bot.errors import StartError
from bot.server.api.identity_provider import derive
from bot.server.api.sessions import COOKIE, PERSON_COOKIE, LinkSessions
from bot.server.api.sign_on import PENDING
from bot.store.connection import Statement
from tests.component.server.test_api_tokens import other_process
from tests.features.attackers import MAY, attacked
from tests.features.test_access_table import attack, doors_in_order, use
from tests.harness.openid_provider import CLIENT, SECRET, OpenIdProvider, new_key, openid_provider
from tests.platforms.web.people import CHATS, give
from tests.platforms.web.serving import World, world

START = "/api/session/oidc"
CALLBACK = f"{START}/callback"
ROLES = "{staff: member, /ops: admin, board: owner}"
OUTLIVE = Statement("UPDATE page_sessions SET expires_at = expires_at - 43201")


@dataclass
class Desk:
    """A service with sign-on, its provider, and a browser."""

    service: World
    provider: OpenIdProvider
    browser: httpx.AsyncClient

    async def begin(self, browser: httpx.AsyncClient | None = None) -> str:
        """Begin a sign-in; the address of the callback to which the provider redirects."""
        started = await (browser or self.browser).get(START)
        assert started.status_code == 303, started.text
        async with httpx.AsyncClient(verify=tls_context()) as elsewhere:
            answer = await elsewhere.get(started.headers["location"])
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    async def sign_in(self, browser: httpx.AsyncClient | None = None) -> httpx.Response:
        """Sign in; the page at the end."""
        return await (browser or self.browser).get(await self.begin(browser))

    async def who(self) -> dict[str, Any]:
        """The person who is signed in."""
        found: dict[str, Any] = (await self.browser.get("/api/session")).json()
        return found

    async def refused(self, *words: str, status: int = 400) -> None:
        """A sign-in fails with these words on the page."""
        page = await self.sign_in()
        assert page.status_code == status, page.text
        assert [word for word in words if word not in page.text] == [], page.text
        assert PERSON_COOKIE not in self.browser.cookies
        assert (await self.browser.get("/api/session")).status_code == 401


def oidc(provider: OpenIdProvider, more: str = "") -> str:
    secret = json.dumps(SECRET)
    return (
        f", oidc: {{issuer: '{provider.issuer}', client_id: {CLIENT}, client_secret: {secret},"
        f" roles: {ROLES}{more}}}"
    )


def browser_of(url: str, **headers: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=tls_context(), base_url=url, timeout=20, headers=headers)


@asynccontextmanager
async def desk(home: Path, more: str = "") -> AsyncIterator[Desk]:
    async with (
        openid_provider() as provider,
        world(home, server=oidc(provider, more), extra=CHATS) as service,
        browser_of(service.url) as browser,
    ):
        service.service.core.address = service.url
        provider.redirect_uri = f"{service.service.core.address}{CALLBACK}"
        yield Desk(service, provider, browser)


async def test_a_person_signs_in_with_the_role_of_their_group(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        assert "data-sign-on" in (await at.browser.get("/")).text
        page = await at.sign_in()
        assert (page.status_code, 'content="0; url=/"' in page.text) == (200, True)
        assert await at.who() == {
            **{"person": "oidc:u1", "name": "Ann", "role": "member", "how": "oidc", "account": "oidc"}
        }
        assert "data-sign-on" not in (await at.browser.get("/")).text
        events = await at.service.audited()
        assert ("oidc:u1", "signed in") in {(one["person"], one["action"]) for one in events}
        assert (await at.browser.delete("/api/session")).status_code == 204
        assert (await at.browser.get("/api/session")).status_code == 401


async def test_without_sign_on_there_is_no_route_and_no_button(tmp_path: Path) -> None:
    async with world(tmp_path) as service, browser_of(service.url) as browser:
        assert (await browser.get(START)).status_code == 404
        assert (await browser.get(CALLBACK)).status_code == 404
        assert "data-sign-on" not in (await browser.get("/")).text


async def test_the_request_has_state_nonce_and_challenge_but_no_secret(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        started = await at.browser.get(START, params={"next": "https://evil.example", "redirect_uri": "x"})
        url = urlsplit(started.headers["location"])
        assert f"{url.scheme}://{url.netloc}{url.path}" == f"{at.provider.issuer}/authorize"
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        secret = started.cookies[PENDING]
        assert query == {
            **{"response_type": "code", "client_id": CLIENT, "scope": "openid profile"},
            **{"redirect_uri": at.provider.redirect_uri, "state": derive(secret, "state")},
            **{"nonce": derive(secret, "nonce"), "code_challenge_method": "S256"},
            "code_challenge": query["code_challenge"],
        }
        for hidden in (secret, derive(secret, "verifier"), SECRET):
            assert hidden not in started.headers["location"]
        [cookie] = [one for one in started.headers.get_list("set-cookie") if one.startswith(PENDING)]
        assert {"HttpOnly", "SameSite=lax", f"Path={START}", "Max-Age=600"} <= set(cookie.split("; "))


@pytest.mark.guard(
    "an answer to another browser opens no session",
    "bot/server/api/identity_provider.py",
    'derive(secret, "state").encode()',
    'answer.get("state", "").encode()',
    against="forged sign-ons",
)
async def test_an_answer_to_another_browser_opens_no_session(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, browser_of(at.service.url) as victim:
        forged = await at.begin()
        assert (await victim.get(forged)).status_code == 400
        await at.begin(victim)
        page = await victim.get(forged)
        assert (page.status_code, "begun in another browser" in page.text) == (400, True)
        assert PERSON_COOKIE not in victim.cookies
        assert "token" not in at.provider.requests


@pytest.mark.guard(
    "a browser that began no sign-in completes none",
    "bot/server/api/identity_provider.py",
    "if not secret or not",
    "if not",
    against="forged sign-ons",
)
async def test_a_browser_without_a_cookie_completes_nothing(tmp_path: Path) -> None:
    """Anybody can compute the state of an empty secret, and its nonce and challenge."""
    async with desk(tmp_path) as at, browser_of(at.service.url) as victim:
        answer = await victim.get(CALLBACK, params={"code": "x", "state": derive("", "state")})
        assert "begun in another browser" in answer.text
        assert "token" not in at.provider.requests


async def test_an_answer_is_used_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, browser_of(at.service.url) as copy:
        callback = await at.begin()
        copy.cookies.set(PENDING, at.browser.cookies[PENDING])
        assert (await at.browser.get(callback)).status_code == 200
        assert PENDING not in at.browser.cookies
        assert "has expired" in (await at.browser.get(callback)).text
        replayed = await copy.get(callback)
        assert (replayed.status_code, "400 invalid_grant" in replayed.text) == (400, True)
        assert PERSON_COOKIE not in copy.cookies


async def test_another_process_completes_a_sign_in(tmp_path: Path) -> None:
    async with desk(tmp_path) as at, other_process(at.service) as elsewhere:
        callback = urlsplit(await at.begin())
        async with browser_of(elsewhere) as browser:
            browser.cookies = at.browser.cookies
            page = await browser.get(f"{callback.path}?{callback.query}")
            assert page.status_code == 200, page.text
            assert (await browser.get("/api/session")).json()["person"] == "oidc:u1"


NOW = time.time
CLAIMS: Mapping[str, tuple[Callable[[OpenIdProvider], dict[str, Any]], str]] = {
    "nonce of another sign-in": (lambda _: {"nonce": "0" * 64}, "nonce"),
    "no nonce": (lambda _: {"nonce": None}, "nonce"),
    "another audience": (lambda _: {"aud": "other"}, "aud"),
    "no audience": (lambda _: {"aud": None}, "aud"),
    "two audiences and no authorized party": (lambda _: {"aud": [CLIENT, "other"]}, "azp"),
    "for another party": (lambda _: {"aud": [CLIENT, "other"], "azp": "other"}, "azp"),
    "another issuer": (lambda _: {"iss": "https://evil.example"}, "iss"),
    "the issuer with a slash": (lambda provider: {"iss": f"{provider.issuer}/"}, "iss"),
    "expired": (lambda _: {"exp": int(NOW()) - 65}, "Compare the clocks"),
    "of the future": (lambda _: {"iat": int(NOW()) + 120}, "Compare the clocks"),
    "no expiry": (lambda _: {"exp": None}, "Compare the clocks"),
    "hash of another access token": (lambda _: {"at_hash": "AAAA"}, "at_hash"),
    "no subject": (lambda _: {"sub": None}, "sub"),
    "an empty subject": (lambda _: {"sub": ""}, "no subject"),
    "a number as subject": (lambda _: {"sub": 7}, "sub"),
}


@pytest.mark.guard(
    "the claims of ID tokens are checked",
    "bot/server/api/identity_provider.py",
    "claims.validate(int(self._clock.now()), LEEWAY)",
    "pass",
    against="forged sign-ons",
    case="another audience",
)
@pytest.mark.parametrize("claims", CLAIMS)
async def test_a_token_with_wrong_claims_is_refused(tmp_path: Path, claims: str) -> None:
    make, word = CLAIMS[claims]
    async with desk(tmp_path) as at:
        at.provider.claims |= make(at.provider)
        await at.refused(word)


@pytest.mark.parametrize("claims", [{"exp": -50}, {"iat": 50}, {"nbf": 50}])
async def test_clocks_may_differ_by_a_minute(tmp_path: Path, claims: dict[str, int]) -> None:
    async with desk(tmp_path) as at:
        at.provider.claims |= {name: int(NOW()) + delta for name, delta in claims.items()}
        assert (await at.sign_in()).status_code == 200


def b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def hs256(key: bytes, claims: dict[str, Any]) -> str:
    head = b64(json.dumps({"alg": "HS256", "kid": "k1"}).encode())
    signed = f"{head}.{b64(json.dumps(claims).encode())}"
    return f"{signed}.{b64(hmac.digest(key, signed.encode(), 'sha256'))}"


SIGNATURES: Mapping[str, Callable[[OpenIdProvider], Callable[[dict[str, Any]], str]]] = {
    "none": lambda _: (
        lambda claims: f"{b64(json.dumps({'alg': 'none'}).encode())}.{b64(json.dumps(claims).encode())}."
    ),
    "HS256 with the public key as PEM": lambda provider: (
        lambda claims: hs256(provider.keys[0].as_pem(private=False), claims)
    ),
    "HS256 with the public key as JWK": lambda provider: (
        lambda claims: hs256(json.dumps(provider.keys[0].as_dict(private=False)).encode(), claims)
    ),
    "HS256 with the client secret": lambda _: lambda claims: hs256(SECRET.encode(), claims),
    "another key of the same name": lambda provider: provider.sign_with(new_key("k1")),
    "a key of another name": lambda provider: provider.sign_with(new_key("k2")),
    "not signed": lambda provider: (
        lambda claims: provider.sign_with(provider.keys[0])(claims).rpartition(".")[0] + "."
    ),
    "no token": lambda _: lambda _claims: "",
}


@pytest.mark.guard(
    "only algorithms with public keys are accepted",
    "bot/server/api/identity_provider.py",
    'ALGORITHMS = ("RS256",',
    'ALGORITHMS = ("none", "RS256",',
    against="forged sign-ons",
    case="none",
)
@pytest.mark.parametrize("signature", SIGNATURES)
async def test_a_token_with_a_wrong_signature_is_refused(tmp_path: Path, signature: str) -> None:
    async with desk(tmp_path) as at:
        at.provider.sign = SIGNATURES[signature](at.provider)
        await at.refused("ID token is not valid")


@pytest.mark.guard(
    "an answer of another issuer is not exchanged (RFC 9207)",
    "bot/server/api/identity_provider.py",
    '!= self._config.issuer:\n            raise SignOnError(f"The answer',
    '== "":\n            raise SignOnError(f"The answer',
    against="forged sign-ons",
)
@pytest.mark.parametrize("issuer", ["https://evil.example", ""])
async def test_an_answer_of_another_issuer_is_not_exchanged(tmp_path: Path, issuer: str) -> None:
    async with desk(tmp_path) as at:
        at.provider.answer["iss"] = issuer
        await at.refused("not from the issuer")
        assert "token" not in at.provider.requests


async def test_a_provider_that_names_no_issuer_in_answers_may_leave_it_out(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.provider.answer["iss"] = ""
        at.provider.metadata["authorization_response_iss_parameter_supported"] = False
        assert (await at.sign_in()).status_code == 200


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_credentials_are_sent_as_the_provider_supports(tmp_path: Path, method: str) -> None:
    async with desk(tmp_path) as at:
        at.provider.metadata["token_endpoint_auth_methods_supported"] = [method]
        assert (await at.sign_in()).status_code == 200


@pytest.mark.parametrize(
    ("metadata", "word"),
    [
        ({"issuer": "https://evil.example"}, "An admin has to correct server.oidc.issuer"),
        ({"token_endpoint": "file:///etc/passwd"}, "token_endpoint"),
        ({"jwks_uri": None}, "jwks_uri"),
    ],
)
async def test_a_discovery_document_of_another_provider_is_refused(
    tmp_path: Path, metadata: dict[str, Any], word: str
) -> None:
    async with desk(tmp_path) as at:
        at.provider.metadata |= metadata
        page = await at.browser.get(START)
        assert (page.status_code, word in page.text) == (502, True)


async def test_a_new_key_is_read_and_others_are_cached(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        for _ in range(3):
            assert (await at.sign_in()).status_code == 200
        assert at.provider.requests.count("keys") == 1
        at.provider.keys = [*at.provider.keys, new_key("k2")]
        assert (await at.sign_in()).status_code == 200
        assert (at.provider.requests.count("keys"), at.provider.requests.count("metadata")) == (2, 2)


async def test_a_declined_sign_in_says_so_without_markup_of_others(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        at.provider.answer |= {"error": "access_denied", "error_description": "<script>alert(1)</script>"}
        await at.refused("access_denied: &lt;script&gt;", "Sign in again")
        assert "token" not in at.provider.requests


@pytest.mark.parametrize(
    ("failure", "word"),
    [
        (HTMLResponse("<h1>Bad gateway</h1>", 502), "does not respond"),
        (JSONResponse({"error": "server_error"}, 500), "500 server_error"),
        (JSONResponse([], 200), "refused a request"),
        (RedirectResponse("https://evil.example/token", 307), "does not respond"),
    ],
)
async def test_a_failing_provider_is_named(tmp_path: Path, failure: Any, word: str) -> None:
    async with desk(tmp_path) as at:
        at.provider.failing["token"] = failure
        await at.refused(word)


async def test_a_provider_that_is_down_is_named(tmp_path: Path) -> None:
    unused = ", oidc: {issuer: 'http://127.0.0.1:9', client_id: a, client_secret: b}"
    async with world(tmp_path, server=unused) as service, browser_of(service.url) as browser:
        page = await browser.get(START)
        assert page.status_code == 502
        assert "does not respond at http://127.0.0.1:9/" in page.text
        assert "Try again later" in page.text


@pytest.mark.guard(
    "nobody gets in without a mapped group or a granted role",
    "bot/config/sign_on.py",
    '{"default": "closed", **lists}',
    '{"default": "allow", **lists}',
    against="forged sign-ons",
)
@pytest.mark.parametrize("groups", [None, [], ["other"], "staffs", {"staff": 1}, [["staff"]], 7])
async def test_nobody_gets_in_without_a_group_or_a_role(tmp_path: Path, groups: Any) -> None:
    async with desk(tmp_path) as at:
        at.provider.claims["groups"] = groups
        await at.refused("none of your groups has access", "oidc:u1", status=403)
        assert ("oidc:u1", "sign-in refused") in {
            (one["person"], one["action"]) for one in await at.service.audited()
        }
        await give(at.service, "oidc:u1", "admin")
        assert (await at.sign_in()).status_code == 200
        assert (await at.who())["role"] == "admin"


async def test_who_is_blocked_stays_out(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        assert (await at.sign_in()).status_code == 200
        await give(at.service, "oidc:u1", "blocked")
        assert (await at.browser.get("/api/session")).status_code == 401
        assert (await at.sign_in()).status_code == 403


@pytest.mark.parametrize(
    ("groups", "role"), [("staff", "member"), (["/ops"], "admin"), (["staff", "board", "/ops"], "owner")]
)
async def test_the_highest_role_of_the_groups_counts(tmp_path: Path, groups: Any, role: str) -> None:
    async with desk(tmp_path, ", groups_claim: teams, name_claim: nick") as at:
        at.provider.claims |= {"teams": groups, "groups": ["board"], "nick": " A\n<b> "}
        assert (await at.sign_in()).status_code == 200
        assert ((await at.who())["role"], (await at.who())["name"]) == (role, "A <b>")


@pytest.mark.guard(
    "sessions of a former issuer end",
    "bot/wiring.py",
    "oidc is None or oidc.membership not in sender.belongs",
    "oidc is None",
    against="forged sign-ons",
)
async def test_a_change_of_the_mapping_or_the_issuer_applies_to_open_sessions(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        assert (await at.sign_in()).status_code == 200
        core = at.service.service.core
        before = core.server
        assert before.oidc is not None

        def change(**values: Any) -> None:
            changed = OidcConfig.model_validate({**dict(before.oidc or ()), **values})
            core.server = before.model_copy(update={"oidc": changed})

        change(roles={"staff": "owner"})
        assert (await at.who())["role"] == "owner"
        change(roles={"others": "owner"})
        assert (await at.browser.get("/api/session")).status_code == 401
        change(issuer="https://new.example", roles={"staff": "member"})
        assert (await at.browser.get("/api/session")).status_code == 401
        core.server = before.model_copy(update={"oidc": None})
        assert (await at.browser.get("/api/session")).status_code == 401


@pytest.mark.guard(
    "a subject is no group",
    "bot/server/api/identity_provider.py",
    "plain = _PLAIN_ID.fullmatch(subject) is not None",
    "plain = True",
    against="forged sign-ons",
)
@pytest.mark.parametrize("subject", ["auth0|5f7c", "usergroup:board", "a b", "é", "x" * 255, "sub-0", "-"])
async def test_any_subject_becomes_an_id_that_a_role_can_be_granted_to(tmp_path: Path, subject: str) -> None:
    async with desk(tmp_path) as at:
        at.provider.claims["sub"] = subject
        assert (await at.sign_in()).status_code == 200
        person = (await at.who())["person"]
        assert person.startswith("oidc:sub-")
        granted = await at.service.http.put(f"/api/access/{person}", json={"role": "admin"})
        assert granted.status_code == 200, granted.text
        assert (await at.who())["role"] == "admin"
        data = await at.service.http.get(f"/api/people/{person}/data")
        assert data.status_code == 200, data.text


async def test_a_session_replaces_that_of_another_and_ends_after_half_a_day(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        await at.browser.post("/api/session", json={"token": at.service.token})
        assert (await at.who())["person"] == "web:owner"
        assert (await at.sign_in()).status_code == 200
        assert COOKIE not in at.browser.cookies
        assert (await at.who())["person"] == "oidc:u1"
        await at.service.service.db.transact(lambda connection: connection.execute(OUTLIVE))
        assert (await at.browser.get("/api/session")).status_code == 401


async def test_behind_a_proxy_the_public_address_is_registered_and_cookies_are_secure(tmp_path: Path) -> None:
    public = "https://bot.example.org"
    async with openid_provider() as provider:
        server = f", public_url: '{public}'{oidc(provider)}"
        async with world(tmp_path, server=server) as service, browser_of(service.url) as browser:
            started = await browser.get(START, headers={"host": "bot.example.org"})
            query = parse_qs(urlsplit(started.headers["location"]).query)
            assert query["redirect_uri"] == [f"{public}{CALLBACK}"]
            provider.redirect_uri = f"{public}{CALLBACK}"
            async with httpx.AsyncClient(verify=tls_context()) as elsewhere:
                answer = await elsewhere.get(started.headers["location"])
            callback = urlsplit(answer.headers["location"])
            cookie = f"{PENDING}={started.cookies[PENDING]}"
            page = await browser.get(
                f"{callback.path}?{callback.query}", headers={"host": "bot.example.org", "cookie": cookie}
            )
            assert page.status_code == 200, page.text
            cookies = page.headers.get_list("set-cookie")
            [session] = [one for one in cookies if one.startswith(PERSON_COOKIE)]
            assert {"HttpOnly", "SameSite=strict", "Secure"} <= set(session.split("; "))
            assert "Secure" in started.headers["set-cookie"]


async def test_a_person_chats_in_conversations_of_their_own(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        owners = await at.service.open()
        assert (await at.sign_in()).status_code == 200
        mine = replace(at.service, http=at.browser)
        turn = await mine.turn((await mine.say(await mine.open(), "hello"))["turn"])
        assert turn["state"] == "done", turn
        assert "hello" in turn["parts"][0]["text"]
        assert (await at.browser.get(f"/api/conversations/{owners}")).status_code == 404


async def test_secrets_are_neither_logged_nor_stored(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        with structlog.testing.capture_logs() as logs:
            callback = await at.begin()
            secret = at.browser.cookies[PENDING]
            await at.browser.get(callback)
            await at.browser.get(callback)
        assert {one["event"] for one in logs} >= {"sign_on_failed"}
        code = parse_qs(urlsplit(callback).query)["code"][0]
        stored = (tmp_path / "bot.db").read_bytes() + (tmp_path / "bot.db-wal").read_bytes()
        for hidden in (secret, derive(secret, "verifier"), SECRET, code, at.browser.cookies[PERSON_COOKIE]):
            assert hidden not in repr(logs)
            assert hidden.encode() not in stored


@pytest.mark.parametrize(
    ("group", "like"), [pytest.param("staff", "member", marks=pytest.mark.long), ("/ops", "everywhere")]
)
async def test_a_mapped_role_opens_the_same_doors_as_a_persons(tmp_path: Path, group: str, like: str) -> None:
    async with attacked(tmp_path) as at:
        core = at.service.service.core
        config = OidcConfig.model_validate(
            {
                **{"issuer": "https://id.example", "client_id": "a", "client_secret": "bbbbbb"},
                "roles": {"staff": "member", "/ops": "admin"},
            }
        )
        core.server = core.server.model_copy(update={"oidc": config})
        before = await at.snapshot()
        belongs = (config.membership, f"usergroup:{group}")
        links = LinkSessions(api_services(at.service.service, port=0))
        key = await links.open_sign_on_session(Sender("oidc:u1", "Ann", belongs=belongs, account="oidc"))
        async with browser_of(at.service.url, cookie=f"{PERSON_COOKIE}={key}") as client:
            at.callers[like] = client
            closed = {door: access for door, access in doors_in_order() if like not in MAY[access]}
            assert await attack(at, like, closed) == []
            assert await at.snapshot() == before
            opened = [door for door, access in doors_in_order() if like in MAY[access]]
            assert await use(at, like, opened) == []


async def test_sign_on_for_other_machines_needs_a_public_address(tmp_path: Path) -> None:
    server = ", host: 0.0.0.0, oidc: {issuer: 'https://id.example', client_id: a, client_secret: b}"
    with pytest.raises(StartError, match=r"server\.public_url"):
        async with world(tmp_path, server=server):
            pass


@pytest.mark.parametrize(
    "issuer", ["http://id.example", "https://id.example?x=1", "https://a@id.example", "id"]
)
def test_an_issuer_has_a_secure_address(issuer: str) -> None:
    with pytest.raises(ValidationError, match="expected an https address"):
        OidcConfig.model_validate({"issuer": issuer, "client_id": "a", "client_secret": "b"})
