"""Addresses that a model asks for: refused, judged anew on every way, and reached by number."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import httpx
import pytest

from agent.errors import WebFailed, WebRefused
from agent.shared.pinned_transport import PinnedTransport
from agent.shared.public_address import resolve_host
from agent.tools.community.fetching import FetchLimits, fetch
from agent.tools.community.guard import Guard, parse_url
from tests.unit.agent.tools.community.local_site import PRIVATE, PUBLIC, Names, Site, guard, site

LIMITS = FetchLimits(seconds=20.0, body=10_000, redirects=3)


@pytest.fixture
async def here() -> AsyncIterator[Site]:
    async with site() as made:
        yield made


async def text_of(url: str, by: Guard, limits: FetchLimits = LIMITS) -> str:
    return (await fetch(url, guard=by, limits=limits)).body.decode()


@pytest.mark.guard(
    "the connection is made to the address that was checked",
    "agent/shared/pinned_transport.py",
    "request.url.copy_with(host=address),",
    "request.url,",
    against="private addresses",
)
async def test_a_public_host_is_asked_by_its_name(here: Site) -> None:
    here.page("/a?b=c", "hello")
    assert await text_of(here.url("/a?b=c"), guard(site_test=PUBLIC)) == "hello"
    [head] = here.heads
    assert head.startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"host: site.test:{here.port}\r\n" in head.lower()
    for private in ("authorization", "cookie", "referer"):
        assert private not in head.lower()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://127.1:{port}/",
        "http://2130706433:{port}/",
        "http://0x7f000001:{port}/",
        "http://0:{port}/",
        "http://localhost:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://[::ffff:7f00:1]:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://100.64.0.1/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
    ],
)
async def test_nothing_of_the_inside_is_asked(here: Site, url: str) -> None:
    here.page("/", "secret")
    with pytest.raises(WebRefused, match="not on the public internet"):
        await text_of(url.format(port=here.port), Guard(ports=None))
    assert here.heads == []


@pytest.mark.guard(
    "only ports of the web are allowed",
    "agent/tools/community/guard.py",
    "if self.ports is not None and port not in self.ports:",
    "if False:",
    against="private addresses",
)
@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://site.test/", "only http and https"),
        ("gopher://site.test:70/x", "only http and https"),
        ("site.test/page", "only http and https"),
        ("http:///page", "only http and https"),
        ("http://0177.0.0.1/", "not a web address"),
        ("", "only http and https"),
        ("http://user@site.test/", "user name"),
        ("http://user:pass@site.test/", "user name"),
        ("http://site.test:22/", "port 22"),
        ("http://site.test:6379/", "port 6379"),
        ("https://site.test:0/", "port 0"),
        ("http://[::1/", "not a web address"),
        ("http://site.test:99999/", "port 99999"),
        ("http://a\nb/", "not a web address"),
    ],
)
async def test_addresses_of_another_kind(url: str, why: str) -> None:
    by = Guard(Names({"site.test": [[PUBLIC]]}), permitted=lambda _: True)
    with pytest.raises(WebRefused, match=why):
        await fetch(url, guard=by, limits=LIMITS)


@pytest.mark.parametrize(
    "url", ["http://a.test/", "https://a.test:443/", "http://a.test:8080/x", " http://a.test "]
)
async def test_ports_of_the_web_are_taken(url: str) -> None:
    names = Names({"a.test": [["8.8.8.8"]]})
    assert list(await Guard(names).addresses(parse_url(url))) == ["8.8.8.8"]


@pytest.mark.guard(
    "every address of a host has to be public",
    "agent/shared/public_address.py",
    "if not all(permitted(address) for address in found):",
    "if not any(permitted(address) for address in found):",
    against="private addresses",
)
async def test_one_address_inside_is_enough_to_refuse_a_host(here: Site) -> None:
    here.page("/", "secret")
    for found in ([PUBLIC, PRIVATE], [PRIVATE, PUBLIC]):
        with pytest.raises(WebRefused, match=r"mixed\.test is not on the public internet"):
            await text_of(here.url(host="mixed.test"), guard(Names({"mixed.test": [found]})))
    assert here.heads == []


async def test_a_host_that_is_not_there(here: Site) -> None:
    for known in ({}, {"site.test": [[]]}):
        with pytest.raises(WebFailed, match=r"site\.test was not found: the name is wrong, or this service"):
            await text_of(here.url(), guard(Names(known)))  # type: ignore[arg-type]


async def test_a_service_without_network_says_so(here: Site) -> None:
    """It is not the host that does not exist."""

    async def resolve(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    with pytest.raises(WebFailed, match=r"^this service has no network, or its name server does not answer$"):
        await text_of(here.url(), guard(resolve))  # type: ignore[arg-type]


async def test_a_name_that_changes_in_between_leads_nowhere_else(here: Site) -> None:
    """The connection goes to the address that was judged; the second answer is never asked for."""
    here.page("/", "public")
    names = Names({"rebound.test": [[PUBLIC], [PRIVATE]]})
    assert await text_of(here.url(host="rebound.test"), guard(names)) == "public"
    assert names.asked == ["rebound.test"]
    with pytest.raises(WebRefused):
        await text_of(here.url(host="rebound.test"), guard(names))
    assert len(here.heads) == 1


@pytest.mark.guard(
    "redirects are checked like the first address",
    "agent/tools/community/fetching.py",
    "PinnedTransport(guard.addresses, inner)",
    "PinnedTransport(lambda url: guard.resolve(url.host, url.port or 80), inner)",
    against="private addresses",
)
@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2:{port}/secret",
        "http://inner.test:{port}/secret",
        "//inner.test:{port}/secret",
        "http://user@site.test:{port}/secret",
        "file:///etc/passwd",
    ],
)
async def test_a_redirect_is_judged_like_a_first_address(here: Site, target: str) -> None:
    here.page("/secret", "secret")
    here.leads("/", target.format(port=here.port))
    known = {"site.test": [[PUBLIC]], "inner.test": [[PRIVATE]], "127.0.0.2": [["127.0.0.2"]]}
    with pytest.raises((WebRefused, WebFailed)):
        await text_of(here.url(), guard(Names(known)))  # type: ignore[arg-type]
    assert [head.split()[1] for head in here.heads] == ["/"]


async def test_a_host_is_judged_again_after_a_redirect_to_itself(here: Site) -> None:
    here.page("/secret", "secret")
    here.leads("/", "/secret")
    names = Names({"site.test": [[PUBLIC], [PRIVATE]]})
    with pytest.raises(WebRefused):
        await text_of(here.url(), guard(names))
    assert names.asked == ["site.test", "site.test"]
    assert len(here.heads) == 1


async def test_redirects_are_followed_so_far(here: Site) -> None:
    here.page("/3", "there")
    for number in range(3):
        here.leads(f"/{number}", f"/{number + 1}")
    by = guard(site_test=PUBLIC)
    found = await fetch(here.url("/0"), guard=by, limits=LIMITS)
    assert (found.body, found.url) == (b"there", here.url("/3"))
    with pytest.raises(WebFailed, match=r"too many redirects \(more than 2\)"):
        await text_of(here.url("/0"), by, FetchLimits(redirects=2))


async def test_the_next_address_is_tried_where_one_does_not_answer(here: Site) -> None:
    here.page("/", "there")
    asked: list[str] = []

    class Inner(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            asked.append(request.url.host)
            if request.url.host != "1.1.1.3":
                raise httpx.ConnectError("refused")
            assert request.extensions["sni_hostname"] == "site.test"
            return httpx.Response(200, text="there")

    names = Names({"site.test": [["1.1.1.1", "2606:4700::1", "1.1.1.3"], ["1.1.1.1", "1.1.1.2"]]})
    async with httpx.AsyncClient(transport=PinnedTransport(Guard(names).addresses, Inner())) as client:
        response = await client.get("https://site.test/x")
        assert (response.text, str(response.request.url)) == ("there", "https://site.test/x")
        assert asked == ["1.1.1.1", "2606:4700::1", "1.1.1.3"]
        with pytest.raises(httpx.ConnectError):
            await client.get("https://site.test/x")


async def test_the_system_is_asked_for_names() -> None:
    assert PUBLIC in await resolve_host("localhost", 80) or "::1" in await resolve_host("localhost", 80)
    assert list(await resolve_host("2130706433", 80)) == [PUBLIC]


async def test_a_name_that_is_none_is_not_found() -> None:
    with pytest.raises(WebFailed, match="was not found"):
        await text_of("http://a..b/", Guard())
