"""People sign in to a real MCP server with their browser, at a strict provider."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from agent.errors import McpUnavailable
from agent.mcp.guarded_transport import GuardedTransport
from agent.mcp.pool import McpPool
from agent.mcp.sign_in_files import FOLDER, erase_person
from agent.mcp.sign_ins import LINK_SECONDS, SignIns
from tests.harness.mcp import Time, configured, in_thread, named
from tests.harness.oauth_provider import Provider

ADDRESS = "https://bot.example"


class Stage:
    """A service with the server `tracker`, and people with browsers."""

    def __init__(self, provider: Provider, home: Path, **oauth: Any) -> None:
        self.provider, self.home = provider, home
        self.clock = Time()
        self.sign_ins = SignIns(home, ADDRESS, clock=self.clock)
        entry: dict[str, Any] = {"url": provider.resource}
        if oauth:
            entry["oauth"] = {"grant_type": "authorization_code", **oauth}
        self.servers = configured(tracker=entry)
        self.pool = McpPool(sign_ins=self.sign_ins, start_wait=60)

    async def tools(self) -> set[str]:
        return set(named(await self.pool.load_tools(self.servers)))

    async def call(self, tool: str, person: str = "web:anna", **more: Any) -> str:
        """What a tool answers in a person's private chat."""
        tools = named(await self.pool.load_tools(self.servers))
        about = {"thread_id": f"t-{person[-4:]}", "user_id": person, "chat_kind": "private", **more}
        request: Any = {"type": "tool_call", "id": "c", "name": f"tracker_{tool}", "args": {}}
        return str((await in_thread(tools[f"tracker_{tool}"], request, {"configurable": about})).text)

    async def link(self, person: str = "web:anna", **more: Any) -> str:
        """The link that a person gets."""
        said = await self.call("sign_in", person, **more)
        assert f": {ADDRESS}/api/mcp/sign-in/start?ticket=" in said, said
        return said.partition("ticket=")[2]

    async def browse(self, ticket: str, person: str) -> dict[str, str]:
        """What the provider sends to the callback after the person has signed in there."""
        pending = self.sign_ins.find_ticket(ticket)
        assert pending is not None
        self.provider.person = person
        async with httpx.AsyncClient(trust_env=False) as browser:
            answer = await browser.get(pending.provider_url)
        assert answer.status_code == 302, answer.text
        back = urlsplit(answer.headers["location"])
        assert f"{back.scheme}://{back.netloc}{back.path}" == self.sign_ins.callback_url
        return {key: values[0] for key, values in parse_qs(back.query).items()}

    async def sign_in(self, person: str = "web:anna", name: str = "anna", **more: Any) -> None:
        query = await self.browse(await self.link(person, **more), name)
        assert self.sign_ins.complete(query["state"], query["code"], "") is not None
        client = self.pool.servers["tracker"].sign_in
        assert client is not None
        for task in client._tasks.values():
            await task

    def files(self) -> list[Path]:
        return sorted((self.home / FOLDER / "tracker").glob("*.json"))


@asynccontextmanager
async def staged(home: Path, **oauth: Any) -> AsyncIterator[Stage]:
    async with Provider().running() as provider:
        stage = Stage(provider, home, **oauth)
        try:
            yield stage
        finally:
            await stage.pool.aclose()


@pytest.mark.guard(
    "an MCP server's provider gets the challenge of PKCE",
    "agent/mcp/browser_auth.py",
    "self._sign_ins.set_provider_url(self.pending, url)",
    'self._sign_ins.set_provider_url(self.pending, url.replace("code_challenge", "c"))',
    against="a forged sign-in",
)
@pytest.mark.parametrize("oauth", [{}, {"sign_in": "person"}])
async def test_a_person_signs_in_and_uses_the_tools(tmp_path: Path, oauth: dict[str, str]) -> None:
    """Also if the configuration says nothing of it, and the server asks for it."""
    async with staged(tmp_path, **oauth) as stage:
        await stage.tools()
        assert await stage.tools() == {"tracker_sign_in"}
        assert "status 401" in stage.pool.servers["tracker"].problem or oauth
        await stage.sign_in()
        assert await stage.tools() == {"tracker_sign_in", "tracker_whoami"}
        assert await stage.call("whoami") == "anna"
        assert "Signed in to tracker" in await stage.call("sign_in")


@pytest.mark.guard(
    "people of a conversation have sessions of their own with an MCP server",
    "agent/mcp/server.py",
    "is_personal = self.sign_in is not None and not self.sign_in.is_shared",
    "is_personal = False",
    against="another's account",
)
async def test_each_person_has_an_account_of_their_own(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        await stage.sign_in("web:anna", "anna")
        with pytest.raises(McpUnavailable, match="needs a sign-in: call its tool sign_in"):
            await stage.call("whoami", "web:beni")
        await stage.sign_in("web:beni", "beni")
        assert await stage.call("whoami", "web:beni") == "beni"
        assert await stage.call("whoami", "web:anna") == "anna"
        assert await stage.call("whoami", "web:beni", thread_id="t-anna") == "beni", "in one thread"
        assert stage.provider.requests.count("register") == 1, "the service is registered once"


@pytest.mark.guard(
    "only admins sign in to an MCP server for everybody",
    "agent/mcp/server_sign_in.py",
    'is_admin = not context.platform or "admin" in context.roles',
    "is_admin = True",
    against="another's account",
)
async def test_one_account_for_all_is_an_admins(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="shared") as stage:
        await stage.tools()
        member = {"platform": "web", "roles": ["member"]}
        admin = {"platform": "web", "roles": ["admin", "member"]}
        assert "only an admin can do it" in await stage.call("sign_in", **member)
        await stage.sign_in("web:anna", "anna", **admin)
        assert await stage.call("whoami", "web:beni") == "anna"


@pytest.mark.guard(
    "a group gets no link to sign in to an MCP server",
    "agent/mcp/server_sign_in.py",
    'if context.chat_kind == "group":',
    "if False:",
    against="another's account",
)
async def test_a_link_is_not_given_to_a_group(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        assert "in a private chat" in await stage.call("sign_in", chat_kind="group")


@pytest.mark.may_block
async def test_tokens_are_stored_for_the_service_alone(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        await stage.sign_in()
        assert [stat.S_IMODE(path.stat().st_mode) for path in stage.files()] == [0o600, 0o600]
        assert stat.S_IMODE((tmp_path / FOLDER).stat().st_mode) == 0o700
        assert not any("anna" in path.name for path in stage.files())
        assert erase_person(tmp_path, "web:anna") == 1
        assert [path.name for path in stage.files()] == ["client.json"]


async def test_a_token_is_renewed_after_a_restart(tmp_path: Path) -> None:
    """The end of the token and the provider's endpoints are known again, and a refresh token is used once."""
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        stage.provider.life = 1
        await stage.sign_in()
        stage.provider.expire()
        again = Stage(stage.provider, tmp_path, sign_in="person")
        try:
            await again.tools()
            assert await again.call("whoami") == "anna"
            assert await again.call("whoami", thread_id="other") == "anna"
        finally:
            await again.pool.aclose()
        assert "register" not in stage.provider.requests[1:]
        assert stage.provider.requests.count("authorize") == 1
        assert len(stage.provider.grants) == 1


async def test_a_provider_that_keeps_the_refresh_token(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        stage.provider.sends_refresh_again = False
        await stage.sign_in()
        for _ in range(2):
            stage.provider.expire()
            assert await stage.call("whoami") == "anna"
        stored = [json.loads(path.read_text()) for path in stage.files() if path.stem != "client"]
        assert stored[0]["tokens"]["refresh_token"] == stage.provider.grants[0].refresh


async def test_what_was_granted_ends(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        await stage.sign_in()
        assert await stage.call("whoami") == "anna"
        stage.provider.revoke("anna")
        with pytest.raises(McpUnavailable, match="needs a sign-in"):
            await stage.call("whoami", thread_id="other")
        await stage.sign_in()
        assert await stage.call("whoami", thread_id="third") == "anna"


@pytest.mark.guard(
    "the callback of a sign-in to an MCP server has its state",
    "agent/mcp/sign_ins.py",
    "(one for one in waiting if secrets.compare_digest(one.state.encode(), encoded))",
    "iter(waiting)",
    against="a forged sign-in",
)
@pytest.mark.guard(
    "the callback of a sign-in to an MCP server works once",
    "agent/mcp/sign_ins.py",
    "        self._pending.remove(pending)\n        if code and not error:",
    "        if code and not error:",
    against="a forged sign-in",
)
@pytest.mark.guard(
    "the link of a sign-in to an MCP server expires",
    "agent/mcp/sign_ins.py",
    "if now - one.started >= LINK_SECONDS]",
    "if False]",
    against="a forged sign-in",
)
async def test_links_and_callbacks_work_once_and_not_for_long(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        ticket = await stage.link()
        query = await stage.browse(ticket, "anna")
        assert stage.sign_ins.complete(query["state"][:-1], query["code"], "") is None
        assert stage.sign_ins.complete(query["state"], query["code"], "") is not None
        assert stage.sign_ins.complete(query["state"], query["code"], "") is None
        assert stage.sign_ins.find_ticket(ticket) is None
        old = await stage.link("web:beni")
        stage.clock.now += LINK_SECONDS
        assert stage.sign_ins.find_ticket(old) is None


async def test_a_person_who_refuses_is_not_signed_in(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        await stage.tools()
        query = await stage.browse(await stage.link(), "anna")
        assert stage.sign_ins.complete(query["state"], "", "access_denied") is not None
        assert await stage.tools() == {"tracker_sign_in"}
        assert not [path for path in stage.files() if path.stem != "client"]


async def test_without_an_address_nobody_can_sign_in(tmp_path: Path) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        stage.sign_ins._address = None
        await stage.tools()
        with pytest.raises(McpUnavailable, match="the service has no public_url"):
            await stage.call("sign_in")


@pytest.mark.guard(
    "every request of a sign-in to an MCP server is checked",
    "agent/mcp/server_sign_in.py",
    "make_sign_in_client, self._server, self._url, self._oauth.trusted_hosts, REQUEST_SECONDS",
    "lambda: httpx.AsyncClient(timeout=REQUEST_SECONDS, trust_env=False)",
    against="requests into the network",
)
@pytest.mark.parametrize(
    "place",
    ["http://169.254.169.254", "https://127.0.0.1:1", "http://example.org", "https://metadata.internal"],
)
async def test_a_server_does_not_lead_the_service_into_its_network(tmp_path: Path, place: str) -> None:
    async with staged(tmp_path, sign_in="person") as stage:
        stage.provider.resource_metadata = {
            "resource": stage.provider.resource,
            "authorization_servers": [place],
        }
        await stage.tools()
        with pytest.raises(McpUnavailable, match="is not a public https address"):
            await stage.call("sign_in")


class Recorder(httpx.AsyncBaseTransport):
    """Answers, and records where a request went."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, str]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        name = str(request.extensions.get("sni_hostname", ""))
        self.seen.append((request.url.host, request.headers["host"], name))
        return httpx.Response(200)


@pytest.mark.guard(
    "an MCP server refers only to public addresses",
    "agent/mcp/guarded_transport.py",
    "permitted=self._permitted",
    "permitted=lambda _: True",
    against="requests into the network",
)
@pytest.mark.guard(
    "an MCP server refers only to https, without a password",
    "agent/mcp/guarded_transport.py",
    'if url.scheme != "https" or url.userinfo:',
    "if False:",
    against="requests into the network",
)
@pytest.mark.guard(
    "the address that was checked is the one that a sign-in to an MCP server reaches",
    "agent/shared/pinned_transport.py",
    "request.url.copy_with(host=address),",
    "request.url,",
    against="requests into the network",
)
@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://server.local:8080/x", ("server.local", "server.local:8080", "")),
        ("https://login.example/x", ("203.0.114.7", "login.example", "login.example")),
        ("https://login.corp/x", ("login.corp", "login.corp", "")),
        ("http://login.example/x", None),
        ("https://inside.example/x", None),
        ("https://me:x@login.example/x", None),
        ("http://login.corp/x", None),
    ],
)
async def test_where_requests_of_a_sign_in_go(url: str, seen: tuple[str, str, str] | None) -> None:
    async def resolve(host: str, _: int) -> list[str]:
        return {"login.example": ["203.0.114.7"], "inside.example": ["203.0.114.7", "10.0.0.1"]}[host]

    recorder = Recorder()
    transport = GuardedTransport(
        "x", "http://server.local:8080/mcp", ["login.corp"], inner=recorder, resolve=resolve
    )
    async with httpx.AsyncClient(transport=transport) as client:
        if seen is None:
            with pytest.raises(McpUnavailable, match="not a public https address"):
                await client.get(url)
        else:
            await client.get(url)
    assert recorder.seen == ([seen] if seen else [])
