"""Web pages of other origins: preflights, what they may read, and who is not named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from agent.errors import GraphLoadError
from agent.runtime.cors import CorsSettings
from agent.runtime.loader import read_graphs_file
from agent.runtime.settings import ServeSettings
from agent.serve import load_graphs, parse_arguments
from tests.runtime.serving import serve

PAGE = "https://app.example.com"
NAMED = CorsSettings(allow_origins=(PAGE,))
PREFLIGHT = {
    "origin": PAGE,
    "access-control-request-method": "POST",
    "access-control-request-headers": "content-type,x-api-key,authorization,last-event-id",
}


def cors_headers(answer: httpx.Response) -> dict[str, str]:
    """Return the CORS headers of a response."""
    return {name: value for name, value in answer.headers.items() if name.startswith("access-control-")}


async def test_a_preflight_needs_no_token(tmp_path: Path) -> None:
    async with serve(tmp_path, cors=NAMED) as served, httpx.AsyncClient(base_url=served.url) as http:
        answer = await http.request("OPTIONS", "/threads", headers=PREFLIGHT)
        assert (answer.status_code, answer.content) == (204, b"")
        headers = cors_headers(answer)
        assert headers["access-control-allow-origin"] == PAGE
        assert "access-control-allow-credentials" not in headers
        assert {"POST", "PATCH", "DELETE"} <= set(headers["access-control-allow-methods"].split(", "))
        allowed = headers["access-control-allow-headers"].lower().split(", ")
        assert set(PREFLIGHT["access-control-request-headers"].split(",")) <= set(allowed)
        assert "origin" in answer.headers["vary"].lower()
        assert (await http.request("OPTIONS", "/threads", headers={"origin": PAGE})).status_code == 401


async def test_a_page_reads_answers_and_refusals(tmp_path: Path) -> None:
    async with serve(tmp_path, cors=NAMED) as served:
        answer = await served.http.post("/threads", json={}, headers={"origin": PAGE})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == PAGE
        exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
        assert {"content-location", "location", "x-pagination-total", "x-pagination-next"} <= set(exposed)
        refused = await served.http.get("/info", headers={"origin": PAGE, "x-api-key": "wrong"})
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == PAGE


@pytest.mark.guard(
    "runtime: pages of other origins get no CORS header",
    "agent/runtime/cors.py",
    "        if origin is None or not self.is_allowed_origin(origin):",
    "        if origin is None:",
    against="no credential",
)
@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "https://app.example.com.evil.example", "null", "http://app.example.com"],
)
async def test_an_origin_that_is_not_named_gets_no_cors_header(tmp_path: Path, origin: str) -> None:
    async with serve(tmp_path, cors=NAMED) as served:
        preflight = await served.http.request("OPTIONS", "/threads", headers={**PREFLIGHT, "origin": origin})
        request = await served.http.get("/info", headers={"origin": origin})
        assert (preflight.status_code, request.status_code) == (403, 403)
        assert "--cors-origin" in request.json()["detail"]
        assert cors_headers(preflight) == cors_headers(request) == {}


@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://evil.example"])
async def test_without_settings_no_origin_is_named(tmp_path: Path, origin: str) -> None:
    async with serve(tmp_path) as served:
        headers = {"origin": origin}
        answers = [await served.http.get("/ok", headers=headers)]
        answers.append(await served.http.request("OPTIONS", "/threads", headers={**PREFLIGHT, **headers}))
        assert [cors_headers(answer) for answer in answers] == [{}, {}]


async def test_any_origin_still_needs_the_token(tmp_path: Path) -> None:
    settings = CorsSettings(allow_origins=("*",))
    async with serve(tmp_path, cors=settings) as served:
        headers = {"origin": "https://any.example"}
        answer = await served.http.get("/info", headers=headers)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers
        assert (await served.http.get("/info", headers={**headers, "x-api-key": ""})).status_code == 401


async def test_keys_of_the_file_reach_the_browser(tmp_path: Path) -> None:
    keys = {
        "allow_origin_regex": r"https://[a-z]+\.example\.com",
        "allow_methods": ["GET"],
        "allow_headers": ["X-Page"],
        "allow_credentials": True,
        "expose_headers": ["X-Own"],
        "max_age": 5,
    }
    async with serve(tmp_path, cors=CorsSettings.model_validate(keys)) as served:
        headers = cors_headers(await served.http.request("OPTIONS", "/threads", headers=PREFLIGHT))
        assert headers["access-control-allow-methods"] == "GET"
        assert {"X-Page", "x-api-key"} <= set(headers["access-control-allow-headers"].split(", "))
        assert headers["access-control-allow-credentials"] == "true"
        assert headers["access-control-max-age"] == "5"
        answer = await served.http.get("/ok", headers={"origin": PAGE})
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert {"X-Own", "location"} <= set(answer.headers["access-control-expose-headers"].split(", "))


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("https://a.example.com", True),
        ("https://a.b.example.com", True),
        ("https://example.com", False),
        ("https://a.example.com:8443", False),
        ("https://a.example.com.evil.example", False),
        ("http://localhost:5173", True),
        ("http://localhost", False),
        ("https://exact.example", True),
        ("https://exact.example.evil.example", False),
        ("null", False),
    ],
)
def test_patterns_match_hosts_and_ports(origin: str, is_allowed: bool) -> None:
    names = ("https://*.example.com", "http://localhost:*", "HTTPS://Exact.Example/")
    assert CorsSettings(allow_origins=names).is_allowed(origin) is is_allowed


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"allow_origins": ["*"], "allow_credentials": True}, "allow_credentials requires a list"),
        ({"allow_origin_regex": ".*", "allow_credentials": True}, "allow_credentials requires a list"),
        ({"allow_origins": ["app.example.com"]}, "is not an origin"),
        ({"allow_origin_regex": "("}, "not a regular expression"),
        ({"allow_private_network": True}, "allow_private_network"),
    ],
)
def test_rules_that_can_not_be_kept_are_refused(tmp_path: Path, keys: dict[str, Any], problem: str) -> None:
    path = tmp_path / "langgraph.json"
    path.write_text(json.dumps({"graphs": {"g": "./g.py:graph"}, "http": {"cors": keys}}))
    with pytest.raises(GraphLoadError, match=problem):
        read_graphs_file(path)


def test_origins_of_the_command_line_join_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "langgraph.json"
    cors = {"allow_origins": ["https://file.example"], "allow_credentials": True}
    path.write_text(json.dumps({"graphs": {"g": "./g.py:graph"}, "http": {"cors": cors}}))
    settings = parse_arguments(["--graphs", str(path), "--cors-origin", PAGE, "--cors-origin", "http://b:*"])
    assert settings.cors_origins == (PAGE, "http://b:*")
    assert load_graphs(settings).cors.allow_origins == ("https://file.example", PAGE, "http://b:*")
    with pytest.raises(GraphLoadError, match=r"--cors-origin: .*allow_credentials"):
        load_graphs(ServeSettings(tmp_path, graphs=path, cors_origins=("*",)))
    with pytest.raises(GraphLoadError, match=r"--cors-origin: 'app.example.com' is not an origin"):
        load_graphs(ServeSettings(tmp_path, cors_origins=("app.example.com",)))
    with pytest.raises(ValidationError):
        CorsSettings().add_origins(["x"])
