"""Settings shown, previewed, applied and restored by routes of a running service."""

from __future__ import annotations

import asyncio
import fcntl
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.config.loader import load_file
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import World, world

pytestmark = pytest.mark.may_block
CLOSED = {"kind": "settings", "section": "access", "values": {"default": "closed"}}
TOKEN = "1234567890:AAanother-token-of-the-bot"
REPLACED = {"kind": "credentials", "account": "tg", "values": {"bot_token": TOKEN}}


async def settings(at: World) -> dict[str, Any]:
    answer = await at.http.get("/api/settings")
    assert answer.headers["etag"] == f'"{answer.json()["version"]}"'
    found: dict[str, Any] = answer.json()
    return found


async def apply(at: World, *changes: Any, version: str = "", client: httpx.AsyncClient | None = None) -> Any:
    version = version or (await settings(at))["version"]
    headers = {"If-Match": f'"{version}"'}
    return await (client or at.http).post("/api/settings/apply", json={"changes": changes}, headers=headers)


async def test_a_change_is_previewed_and_takes_effect_at_once(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as at:
        before = (tmp_path / "config.yaml").read_text()
        preview = (await at.http.post("/api/settings/preview", json={"changes": [CLOSED]})).json()
        assert preview["difference"].splitlines()[-3:] == ["+", "+access:", '+  default: "closed"']
        assert (preview["keys"], preview["problems"], preview["refused"]) == (["access.default"], [], "")
        assert (tmp_path / "config.yaml").read_text() == before
        done = (await apply(at, CLOSED, version=preview["version"])).json()
        assert (done["live"], done["after_restart"], done["problems"]) == (["access"], [], [])
        assert at.service.core.config.access.default == "closed"
        assert (await settings(at))["version"] == done["version"]
        events = [one for one in await at.audited() if one["action"].startswith("settings")]
        assert [one.pop("action") for one in events] == ["settings changed", "settings save begun"]
        about = {"person": "web:owner", "subject": "access.default", "detail": ""}
        assert events == [about, about]


async def saved(at: World) -> list[str]:
    """The audit events of settings, oldest first."""
    found = (one["action"] for one in reversed(await at.audited()))
    return [action.removeprefix("settings ") for action in found if action.startswith("settings ")]


async def test_a_save_that_fails_is_not_recorded_as_a_change(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as at:
        before, versions = (tmp_path / "config.yaml").read_text(), tmp_path / "config-versions"
        versions.write_text("")
        failed = await apply(at, CLOSED)
        assert failed.status_code == 422
        assert failed.json()["detail"].endswith("can't be written: File exists")
        assert (tmp_path / "config.yaml").read_text() == before
        assert await saved(at) == ["save begun", "not saved"]
        versions.unlink()
        assert (await apply(at, CLOSED)).status_code == 200
        assert await saved(at) == ["save begun", "not saved", "save begun", "changed"]


async def test_a_save_that_fails_after_the_change_is_recorded_as_one(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as at:
        assert (await apply(at, CLOSED)).status_code == 200
        opened = {**CLOSED, "values": {"default": "allow"}}
        # The version of the new text can't be stored, since a folder has its name.
        (tmp_path / "config-versions" / "000003.json").mkdir()
        failed = await apply(at, opened)
        assert failed.status_code == 422
        assert failed.json()["detail"].endswith("can't be written: Is a directory")
        assert "allow" in (tmp_path / "config.yaml").read_text()
        assert await saved(at) == ["save begun", "changed", "save begun", "changed"]


async def test_what_a_crash_while_saving_leaves(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as at:
        (tmp_path / "config-versions").mkdir()
        with (tmp_path / "config-versions" / "changes.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            saving = asyncio.create_task(apply(at, CLOSED))
            async with asyncio.timeout(20):
                while not await saved(at):
                    await asyncio.sleep(0.01)
            assert await saved(at) == ["save begun"]
        assert (await saving).status_code == 200
        assert await saved(at) == ["save begun", "changed"]


async def test_two_editors_at_once(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as at:
        version = (await settings(at))["version"]
        answers = await asyncio.gather(
            apply(at, CLOSED, version=version), apply(at, REPLACED, version=version)
        )
        assert sorted(answer.status_code for answer in answers) == [200, 412]
        [refused] = [answer for answer in answers if answer.status_code == 412]
        assert "has changed since it was read" in refused.json()["detail"]
        assert (await saved(at)).count("changed") == 1
        path = tmp_path / "config.yaml"
        path.write_text(path.read_text() + "# by hand\n")
        late = await apply(at, CLOSED, version=answers[0].json().get("version", version))
        assert late.status_code == 412
        assert path.read_text().endswith("# by hand\n")


async def test_what_is_sent_without_a_version_or_is_invalid(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as at:
        before = (tmp_path / "config.yaml").read_text()
        unmatched = await at.http.post("/api/settings/apply", json={"changes": [CLOSED]})
        assert unmatched.status_code == 428
        wrong = {**CLOSED, "values": {"admins": ["telegram:@ann"]}}
        refused = await apply(at, wrong)
        assert refused.status_code == 422
        assert "a name can change hands" in refused.json()["detail"]
        preview = (await at.http.post("/api/settings/preview", json={"changes": [wrong]})).json()
        [problem] = preview["problems"]
        assert problem["key"] == "access.admins[0]"
        assert problem["line"] > 0
        unknown = await apply(at, {"kind": "settings", "section": "tools", "values": {"x": 1}})
        assert (unknown.status_code, unknown.json()["detail"]) == (422, "tools: there is no such section")
        assert (tmp_path / "config.yaml").read_text() == before


async def test_the_last_change_is_undone(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as at:
        await apply(at, REPLACED)
        await apply(at, CLOSED)
        listed = (await at.http.get("/api/settings/versions")).json()
        assert [one["keys"] for one in listed["versions"]] == [
            ["access.default"],
            ["channels.tg.bot_token"],
            [],
        ]
        assert [one["current"] for one in listed["versions"]] == [True, False, False]
        assert [one["by"] for one in listed["versions"]] == ["Owner", "Owner", ""]
        assert '+  default: "closed"' in listed["versions"][0]["difference"]
        body, headers = {"number": listed["versions"][1]["number"]}, {"If-Match": listed["version"]}
        stale = await at.http.post("/api/settings/restore", json=body, headers={"If-Match": '"x"'})
        assert stale.status_code == 412
        restored = await at.http.post("/api/settings/restore", json=body, headers=headers)
        assert restored.status_code == 200, restored.text
        config = load_file(tmp_path / "config.yaml", {}, tmp_path).config
        assert config.access.default == at.service.core.config.access.default == "pair"
        assert config.channels["tg"].bot_token.get_secret_value() == TOKEN  # type: ignore[attr-defined]
        missing = await at.http.post("/api/settings/restore", json={"number": 999}, headers=headers)
        assert missing.status_code == 404
        assert (await at.audited(1))[0]["action"] == "settings restored"


async def test_a_file_that_is_broken_is_shown_with_its_problems(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        (tmp_path / "config.yaml").write_text("access: {default: open}\n")
        shown = await settings(at)
        assert [(one["key"], one["line"]) for one in shown["problems"]] == [("access.default", 1)]
        (tmp_path / "config.yaml").write_text("access: {default: [\n")
        assert "is not valid YAML" in (await settings(at))["problems"][0]["text"]
        answer = await apply(at, CLOSED)
        assert answer.status_code == 422


async def test_models_and_sources_are_added_chosen_and_removed(tmp_path: Path) -> None:
    model = {
        "kind": "model",
        "model": "m-1",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key": "key-of-the-model",
    }
    source = {
        "kind": "event_source",
        "name": "grafana",
        "type": "grafana",
        "secret": "secret-of-grafana",
        "account": "tg",
        "chat": "-100",
    }
    async with world(tmp_path, extra=CHATS) as at:
        assert (await apply(at, {**model, "name": "one"}, source)).status_code == 200
        assert (await apply(at, {**model, "name": "two", "default": True})).status_code == 200
        shown = await settings(at)
        assert [(one["name"], one["default"]) for one in shown["models"]] == [("two", True), ("one", False)]
        assert shown["models"][1]["credentials"] == [
            {"key": "api_key", "set": True, "variable": "ONE_API_KEY"}
        ]
        [event_source] = shown["event_sources"]
        assert event_source["secret"] is True
        assert event_source["routes"] == [{"source": "grafana", "account": "tg", "chat": "-100"}]
        listed = (await at.http.get("/api/models")).json()
        assert [one["name"] for one in listed["models"]] == ["two", "one"]
        again = await apply(at, {**model, "name": "one"})
        assert "the model one already exists" in again.json()["detail"]
        await apply(at, {"kind": "default_model", "name": "one"})
        assert (await at.http.get("/api/models")).json()["default"] == "one"
        removed = [
            {"kind": "remove", "what": what, "name": name}
            for what, name in (("model", "one"), ("event_source", "grafana"), ("account", "tg"))
        ]
        assert (await apply(at, *removed)).status_code == 200
        shown = await settings(at)
        assert [one["name"] for one in shown["models"]] == ["two"]
        assert (shown["event_sources"], shown["accounts"]) == ([], [])


ANN_OWNS = {"kind": "settings", "section": "access", "values": {"owners": ["telegram:7"]}}
FOR_OWNERS = (
    ANN_OWNS,
    {"kind": "settings", "section": "approvals", "values": {"by": "others"}},
    {"kind": "settings", "section": "channels.tg", "values": {"access.owners": ["telegram:7"]}},
    {"kind": "settings", "section": "access", "values": {"blocked": ["telegram:1"]}},
    {"kind": "model", "name": "m", "model": "m", "base_url": "http://127.0.0.1:9"},
    {"kind": "account", "name": "slack", "platform": "slack", "owner": "U1234567"},
    {"kind": "account", "name": "slack", "platform": "slack", "settings": {"base_url": "http://127.0.0.1:9"}},
    {"kind": "account", "name": "slack", "platform": "slack", "variables": {"bot_token": "HOME"}},
)


async def test_what_only_owners_may_change(tmp_path: Path) -> None:
    owners = 'access: {owners: ["telegram:1"]}\n'
    async with world(tmp_path, extra=CHATS + owners) as at, signed_in(at, role="admin") as ann:
        assert (await ann.get("/api/settings")).status_code == 200
        assert (await apply(at, CLOSED, client=ann)).status_code == 200
        before = (tmp_path / "config.yaml").read_text()
        for change in FOR_OWNERS:
            answer = await apply(at, change, client=ann)
            assert answer.status_code == 403, (change, answer.text)
            check = await ann.post("/api/settings/check", json={"change": change})
            assert check.status_code in (403, 422), change
        assert (await ann.post("/api/settings/restore", json={"number": 1})).status_code == 403
        assert (tmp_path / "config.yaml").read_text() == before


async def test_options_have_links_and_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-0123456789")
    async with world(tmp_path) as at:
        answer = await at.http.get("/api/settings/options", params={"locale": "zh"})
        assert "sk-of-the-environment" not in answer.text
        found = answer.json()
        slack = next(one for one in found["platforms"] if one["name"] == "slack")
        assert slack["link"].startswith("https://api.slack.com/apps?")
        assert [(one["key"], one["secret"]) for one in slack["fields"]] == [
            ("bot_token", True),
            ("app_token", True),
        ]
        assert any(one["name"] == "openai" and one["available"] for one in found["providers"])
        assert found["issuing_types"] == ["pagerduty", "sentry"]
