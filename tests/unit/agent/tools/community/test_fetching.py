"""Fetching within limits: of size, sent and unpacked, and of time."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from functools import partial

import pytest

from agent.errors import WebFailed
from agent.shared.html_charset import decode_html
from agent.tools.community.fetching import FetchedPage, FetchLimits, fetch
from agent.tools.community.rendering import page_text
from tests.unit.agent.tools.community.local_site import PUBLIC, Site, guard, site

LIMITS = FetchLimits(seconds=20.0, body=10_000)
BY = guard(site_test=PUBLIC)


@pytest.fixture
async def here() -> AsyncIterator[Site]:
    async with site() as made:
        yield made


async def fetched(here: Site, limits: FetchLimits = LIMITS) -> FetchedPage:
    return await fetch(here.url(), guard=BY, limits=limits)


async def test_a_body_and_what_it_is(here: Site) -> None:
    here.page("/", "grüß".encode("latin-1"), "Content-Type: text/HTML; charset=Latin-1")
    found = await fetched(here)
    assert (found.media_type, found.charset, found.cut) == ("text/html", "latin-1", False)
    assert decode_html(found.body, found.charset) == "grüß"


@pytest.mark.parametrize(("size", "cut"), [(10_000, False), (10_001, True)])
async def test_a_body_is_cut_at_the_limit(here: Site, size: int, cut: bool) -> None:
    here.page("/", b"x" * size)
    found = await fetched(here)
    assert (len(found.body), found.cut) == (10_000, cut)


async def test_an_endless_body_is_left(here: Site) -> None:
    left = asyncio.Event()

    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            while True:
                writer.write(b"x" * 4_096)
                await writer.drain()
        except ConnectionError:
            left.set()

    here.pages["/"] = endless
    found = await fetched(here)
    assert (len(found.body), found.cut) == (10_000, True)
    async with asyncio.timeout(20):
        await left.wait()


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress)]
)
async def test_a_packed_body(here: Site, encoding: str, pack: object) -> None:
    assert callable(pack)
    here.page("/", pack(b"hello " * 100), f"Content-Encoding: {encoding}")
    assert (await fetched(here)).body == b"hello " * 100


@pytest.mark.guard(
    "a compressed body is unpacked up to the limit",
    "agent/tools/community/fetching.py",
    "return decompressor.decompress(chunk, most)",
    "return decompressor.decompress(chunk)",
    against="memory exhaustion",
)
async def test_a_bomb_is_cut_where_it_unpacks(here: Site) -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    here.page("/", bomb, "Content-Encoding: gzip", "Content-Type: text/plain")
    tracemalloc.start()
    try:
        found = await fetched(here, FetchLimits(body=100_000))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (len(found.body), found.cut) == (100_000, True)
    assert most < 10_000_000, "what is cut was unpacked before"


async def test_what_unpacks_to_nothing_is_cut_where_it_comes(here: Site) -> None:
    empty_block = b"\x00\x00\x00\xff\xff"
    here.page("/", gzip.compress(b"")[:10] + empty_block * 5_000, "Content-Encoding: gzip")
    found = await fetched(here)
    assert (found.body, found.cut) == (b"", True)


@pytest.mark.parametrize(
    ("encoding", "why"),
    [("br", "unknown compression"), ("gzip, gzip", "unknown compression"), ("gzip", "response is invalid")],
)
async def test_a_packing_that_cannot_be_undone(here: Site, encoding: str, why: str) -> None:
    here.page("/", b"\x00\x01 no gzip", f"Content-Encoding: {encoding}")
    with pytest.raises(WebFailed, match=why):
        await fetched(here)


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oops", "304 Not Modified", "302 Found"])
async def test_an_answer_that_is_none(here: Site, status: str) -> None:
    here.page("/", "x" if not status.startswith("304") else "", status=status)
    with pytest.raises(WebFailed, match=f"site.test returned {status}"):
        await fetched(here)


async def test_a_server_that_says_nothing_is_given_up(here: Site) -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    here.pages["/"] = silent
    with pytest.raises(WebFailed, match=r"site\.test did not respond within 0\.2 seconds"):
        await fetched(here, FetchLimits(seconds=0.2))


async def test_a_server_that_trickles_is_given_up(here: Site) -> None:
    async def trickle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    here.pages["/"] = trickle
    with pytest.raises(WebFailed, match="did not respond within"):
        await fetched(here, FetchLimits(seconds=0.5))


async def test_the_body_of_a_redirect_is_not_read(here: Site) -> None:
    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n")
        while True:
            writer.write(b"x" * 4_096)
            await writer.drain()

    here.pages["/"] = endless
    here.page("/there", "there")
    assert (await fetched(here)).body == b"there"


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx"]
)
async def test_a_server_that_breaks_off(here: Site, answer: bytes) -> None:
    here.pages["/"] = answer
    with pytest.raises(WebFailed, match=r"site\.test can't be read \(RemoteProtocolError\)"):
        await fetched(here)


async def test_a_port_where_nobody_is(here: Site) -> None:
    with pytest.raises(WebFailed, match=r"can't be read \(ConnectError\)"):
        await fetch("http://site.test:9/", guard=BY, limits=LIMITS)


page = partial(FetchedPage, "https://site.test/", charset=None, cut=False)


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("text/plain", b"<b>plain</b>", "<b>plain</b>"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/ld+json", b"{}", "{}"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("", b"only text", "only text"),
        ("", b"  <p>html</p>", "html"),
        ("application/xhtml+xml", b"<p>html</p>", "html"),
        ("text/html", b"<title>T</title><p>html</p>", "# T\n\nhtml"),
        ("text/html", b"<title>T</title>", ""),
        ("text/html", b"", ""),
    ],
)
async def test_what_can_be_read_of_it(kind: str, body: bytes, expected: str) -> None:
    assert await page_text(page(media_type=kind, body=body)) == expected


@pytest.mark.parametrize(
    ("kind", "body"), [("application/pdf", b"%PDF"), ("image/png", b"\x89PNG"), ("", b"a\x00b")]
)
async def test_what_cannot(kind: str, body: bytes) -> None:
    with pytest.raises(WebFailed, match=kind or "not text"):
        await page_text(page(media_type=kind, body=body))


async def test_that_a_page_was_cut_is_told() -> None:
    cut = FetchedPage("https://site.test/", "text/plain", None, b"text", cut=True)
    assert (await page_text(cut)).startswith("text\n\n[the page was cut off")


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("é".encode(), None, "é"),
        ("é".encode("cp1252"), "windows-1252", "é"),
        (b"<meta charset='iso-8859-2'>\xb1", None, "<meta charset='iso-8859-2'>ą"),
        (
            b'<meta http-equiv="Content-Type" content="text/html; charset=gbk">\xc4\xe3',
            None,
            '<meta http-equiv="Content-Type" content="text/html; charset=gbk">你',
        ),
        (b"\xff\xfea", "utf-8", "��a"),
        (b"a\x00b", None, "ab"),
        (b"abc", "no-such-charset", "abc"),
        (b"abc", "base64", "abc"),
        (b"abc", "a\x00b", "abc"),
        (b"xn--a", "punycode", "xn--a"),
        (b"\\u0041", "unicode_escape", "\\u0041"),
        (b"abc", "idna", "abc"),
    ],
)
def test_the_text_of_bytes(body: bytes, charset: str | None, text: str) -> None:
    assert decode_html(body, charset) == text
