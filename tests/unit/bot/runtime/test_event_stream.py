"""Server-sent events, however they are cut into pieces."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.runtime.event_stream import EventSplitter, ServerEvent, read_events

STREAM = (
    b": a comment\n\n"
    b'id: 1\nevent: messages\ndata: [{"content": "\xc3\xa4"}, {}]\n\n'
    b": heartbeat\n\n"
    b'event: updates|sub\nid:2\ndata:{\ndata: "a": 1}\n\n'
    b"event: end\ndata:\n\n"
    b"event: cut off\ndata: {}"
)
EVENTS = [
    ServerEvent("messages", [{"content": "ä"}, {}], "1"),
    ServerEvent("updates|sub", {"a": 1}, "2"),
    ServerEvent("end", None, "2"),
]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@given(cuts=st.sets(st.integers(0, len(STREAM) + 12)))
def test_events_come_out_as_they_were_sent(line_end: bytes, cuts: set[int]) -> None:
    sent = STREAM.replace(b"\n", line_end)
    reader, found, begin = EventSplitter(), list[ServerEvent](), 0
    for cut in [*sorted(cuts), len(sent)]:
        found += reader.read(sent[begin:cut])
        begin = cut
    assert found == EVENTS


def test_data_that_is_no_json_breaks_the_stream_off() -> None:
    with pytest.raises(httpx.DecodingError):
        EventSplitter().read(b"data: {\n\n")


async def read(answer: httpx.Response) -> list[ServerEvent]:
    """The events in an answer."""
    transport = httpx.MockTransport(lambda _request: answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://runtime") as http:
        return [event async for event in read_events(http, "/threads/t/runs/r/stream", "-1")]


async def test_only_events_are_read() -> None:
    kind = {"content-type": "text/event-stream; charset=utf-8"}
    assert await read(httpx.Response(200, content=STREAM, headers=kind)) == EVENTS
    with pytest.raises(httpx.HTTPStatusError):
        await read(httpx.Response(404, json={"detail": "gone"}))
    with pytest.raises(httpx.RemoteProtocolError):
        await read(httpx.Response(200, json={}))
