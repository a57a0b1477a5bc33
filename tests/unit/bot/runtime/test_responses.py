"""What an error response of the runtime means, and requests that are signed again."""

from __future__ import annotations

import httpx
import pytest

from agent.shared.request_signature import SIGNATURE_HEADER, is_signed
from bot.errors import RunMissing, RuntimeProblem, RuntimeRefused, RuntimeUnreachable
from bot.runtime.responses import raise_for_status, translated_errors
from bot.runtime.signing import RequestSigner

URL = "http://agent/threads/1/runs"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, RuntimeRefused), (403, RuntimeRefused), (409, RuntimeRefused), (422, RuntimeRefused),
        (429, RuntimeRefused), (500, RuntimeUnreachable), (502, RuntimeUnreachable),
        (503, RuntimeUnreachable), (504, RuntimeUnreachable), (507, RuntimeUnreachable),
        (520, RuntimeUnreachable), (501, RuntimeRefused), (505, RuntimeRefused),
    ],
)  # fmt: skip
@pytest.mark.parametrize("body", [b"", b'{"detail": "no"}', b"[]", b"<html>", b"\xff"])
def test_server_errors_are_those_of_an_unreachable_runtime(
    status: int, expected: type[RuntimeProblem], body: bytes
) -> None:
    response = httpx.Response(status, content=body, request=httpx.Request("POST", URL))
    with pytest.raises(expected):
        raise_for_status(response)
    with pytest.raises(expected), translated_errors():
        response.raise_for_status()


def test_an_unknown_run_is_still_missing() -> None:
    response = httpx.Response(404, request=httpx.Request("GET", URL))
    with pytest.raises(RunMissing), translated_errors():
        response.raise_for_status()


@pytest.mark.parametrize(
    ("path", "times", "accepts_at", "statuses"),
    [
        ("/threads/1/runs", [1000.0, 2000.0], 2000.0, [403, 200]),
        ("/threads/1/runs", [2000.0], 2000.0, [200]),
        ("/threads/1/runs", [1000.0, 1000.0], 2000.0, [403, 403]),
        ("/api/models", [], 2000.0, [403]),
    ],
)
async def test_a_stale_signature_is_replaced_once(
    path: str, times: list[float], accepts_at: float, statuses: list[int]
) -> None:
    answered: list[int] = []
    clock = iter(times)

    def answer(request: httpx.Request) -> httpx.Response:
        signature = request.headers.get(SIGNATURE_HEADER, "")
        values = "key", request.method, request.url.raw_path.decode(), request.content
        good = is_signed(*values, idempotency_key="", signature=signature, now=accepts_at)
        answered.append(200 if good else 403)
        return httpx.Response(answered[-1])

    signer = RequestSigner("key", lambda: next(clock))
    transport = httpx.MockTransport(answer)
    async with httpx.AsyncClient(transport=transport, base_url="http://agent", auth=signer) as client:
        response = await client.post(path, json={"input": 1})
    assert answered == statuses
    assert response.status_code == statuses[-1]
