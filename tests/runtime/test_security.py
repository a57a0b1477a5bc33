"""Who may talk to the runtime."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.runtime.serving import serve


@pytest.mark.guard(
    "runtime: every address requires one",
    "agent/shared/http_guard.py",
    "        if not sent:\n            return RequestRefusal(401, detail)",
    "        if not sent:\n            return None",
    against="no credential",
)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"x-api-key": "wrong"}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Basic secret"}, 401),
        ({"x-api-key": "secret"}, 200),
        ({"authorization": "Bearer secret"}, 200),
    ],
)
async def test_a_token_is_required_on_everything_but_ok(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    async with serve(tmp_path, token="secret") as served, httpx.AsyncClient(base_url=served.url) as http:
        assert (await http.get("/info", headers=headers)).status_code == status
        assert (await http.get("/nothing", headers=headers)).status_code == (404 if status == 200 else status)
        assert (await http.get("/ok", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("evil.example", 421),
        ("evil.example:80", 421),
        ("bots.example", 200),
        ("", 421),
    ],
)
async def test_only_known_hosts_are_served(tmp_path: Path, host: str, status: int) -> None:
    async with serve(tmp_path, allowed_hosts=["Bots.example"]) as served:
        assert (await served.http.get("/info", headers={"host": host})).status_code == status


async def test_any_host_when_allowed(tmp_path: Path) -> None:
    async with serve(tmp_path, allowed_hosts=["*"]) as served:
        assert (await served.http.get("/info", headers={"host": "x.example"})).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"), [("http://localhost:3000", 200), ("https://evil.example", 403), ("null", 403)]
)
async def test_foreign_origins_are_refused(tmp_path: Path, origin: str, status: int) -> None:
    async with serve(tmp_path) as served:
        assert (await served.http.get("/info", headers={"origin": origin})).status_code == status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("text/plain", 200),
        ("text/plain;charset=UTF-8", 200),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 200),
        (None, 200),
    ],
)
async def test_bodies_must_be_json(tmp_path: Path, kind: str | None, status: int) -> None:
    async with serve(tmp_path) as served:
        headers = {} if kind is None else {"content-type": kind}
        body = b'{"metadata": {"a": 1}}'
        answer = await served.http.post("/threads", content=body, headers=headers)
        assert answer.status_code == status
        assert answer.json()["metadata"] == {"a": 1} if status == 200 else answer.json()["detail"]


@pytest.mark.guard(
    "runtime: a web page's form sends no JSON",
    "agent/shared/http_guard.py",
    "        if reads_plain_text and media_type in UNTYPED and sent_tokens(headers):",
    "        if reads_plain_text and media_type in UNTYPED:",
    against="no credential",
)
async def test_a_body_without_a_type_needs_a_token_in_a_header(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, httpx.AsyncClient(base_url=served.url) as http:
        for headers in ({"content-type": "text/plain"}, {}):
            assert (await http.post("/ok", content=b"{}", headers=headers)).status_code == 415
            assert (await http.post("/threads", content=b"{}", headers=headers)).status_code == 401


async def test_text_that_is_not_json_is_named(tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        answer = await served.http.post("/threads", content=b"{", headers={"content-type": "text/plain"})
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("The body is not valid JSON.")


async def test_a_post_without_a_body_needs_no_type(tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        assert (await served.http.post("/threads/search")).status_code == 200


async def test_a_body_has_a_limit_and_a_form_one_of_its_own(tmp_path: Path) -> None:
    async with serve(tmp_path, settings={"body_bytes": 1_000}) as served:
        large = {"metadata": {"text": "x" * 2_000}}
        assert (await served.http.post("/threads", json={})).status_code == 200
        assert (await served.http.post("/threads", json=large)).status_code == 413
        assert (await served.http.post("/threads/t/uploads", json=large)).status_code == 404
