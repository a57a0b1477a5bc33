"""The settings of a chat over the API."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.platforms.web.people import CHATS
from tests.platforms.web.serving import World, world

pytestmark = pytest.mark.may_block
PROFILES = (
    f"{CHATS}\nprofiles: [{{account: tg, skills: [pdf-*, chart]}}, {{person: 'telegram:7', busy: steer}}]"
)


async def change(service: World, method: str, path: str, **more: object) -> httpx.Response:
    params = {"account": "tg", "chat": "-1"} | dict(more.pop("params", {}))  # type: ignore[call-overload]
    return await service.http.request(method, f"/api/profiles{path}", params=params, **more)


async def test_settings_are_set_listed_removed_and_reverted(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        assert (await change(service, "GET", "")).json() == {"settings": {}, "effective": {}}
        put = await change(service, "PUT", "/skills", json={"values": ["pdf-*", "chart"]})
        assert put.status_code == 204, put.text
        await change(service, "PUT", "/tokens_per_day", json={"values": ["100k"]})
        shown = (await change(service, "GET", "")).json()
        assert shown["settings"] == {"skills": ["pdf-*", "chart"], "tokens_per_day": ["100k"]}
        assert shown["effective"] == {
            "tokens_per_day": [{"values": ["100k"], "origin": "/channel", "level": "chat"}],
            "skills": [{"values": ["pdf-*", "chart"], "origin": "/channel", "level": "chat"}],
        }
        elsewhere = await change(service, "GET", "", params={"chat": "-2"})
        assert elsewhere.json() == {"settings": {}, "effective": {}}
        assert (await change(service, "DELETE", "/skills")).status_code == 204
        assert (await change(service, "DELETE", "/skills")).status_code == 404
        assert (await change(service, "POST", "/undo")).status_code == 204
        assert "skills" in (await change(service, "GET", "")).json()["settings"]
        entries = (await service.http.get("/api/audit")).json()["entries"]
        assert [one["detail"] for one in entries if one["action"] == "chat settings"] == [
            "undo skills",
            "reset skills",
            "tokens_per_day 100k",
            "skills pdf-* chart",
        ]


@pytest.mark.parametrize(
    ("path", "values", "params", "status"),
    [
        ("/color", ["red"], {}, 404),
        ("/busy", ["sometimes"], {}, 422),
        ("/busy", ["queue", "steer"], {}, 422),
        ("/busy", [], {}, 422),
        ("/busy", [" "], {}, 422),
        ("/model", ["unheard-of"], {}, 422),
        ("/approvers", ["everybody"], {}, 422),
        ("/instructions", ["x" * 2001], {}, 422),
        ("/busy", ["steer"], {"account": "gone"}, 404),
        ("/busy", ["steer"], {"chat": ""}, 422),
    ],
)
async def test_what_is_impossible_is_refused(
    tmp_path: Path, path: str, values: list[str], params: dict[str, str], status: int
) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        answer = await change(service, "PUT", path, json={"values": values}, params=params)
        assert answer.status_code == status, answer.text
        assert (await change(service, "GET", "")).json()["settings"] == {}


async def test_effective_settings_name_their_origin(tmp_path: Path) -> None:
    async with world(tmp_path, extra=PROFILES) as service:
        shown = (await change(service, "GET", "")).json()["effective"]
        assert [*shown] == ["skills"]
        shown = (await change(service, "GET", "", params={"person": "telegram:7"})).json()["effective"]
        found = {name: (one["origin"], one["level"]) for name, [one] in shown.items()}
        assert found == {"busy": ("profiles[1]", "person"), "skills": ("profiles[0]", "account")}
