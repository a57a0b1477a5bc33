"""`/channel` and `/why` in a chat, and what they change in runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.access import Role
from bot.features.profiles.chat_settings import ChatSettings, ChatSettingsData
from bot.store.audit import Actor
from bot.store.person_data import PersonKey
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench

DATA = ChatSettingsData()


async def says(at: Bench, text: str, person: str = "7") -> list[str]:
    """The lines of the answer in a group."""
    shown = len(at.adapter.texts("c1"))
    await at.adapter.hears(text, chat="c1", person=person)
    await at.until(lambda: len(at.adapter.texts("c1")) > shown)
    return at.adapter.texts("c1")[-1].splitlines()


def newest_run(at: Bench) -> dict[str, Any]:
    return dict(list(at.runtime.runs.values())[-1].request.configurable)


async def test_settings_of_a_chat_reach_its_runs(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        assert await says(at, "/channel") == [
            "This chat has no settings of its own. `/why` shows the effective ones."
        ]
        await says(at, "/channel instructions Answer briefly.\nName your sources.")
        assert await says(at, "/channel deny bash") == ["Set `denied_tools` to `bash` in this chat."]
        assert await says(at, "/channel busy steer") == ["Set `busy` to `steer` in this chat."]
        await says(at, "/channel skills PDF-* chart")
        await says(at, "hello")
        run = newest_run(at)
        assert run["allowed_skills"] == [("PDF-*", "chart")]
        assert run["denied_tools"] == ["bash"]
        assert run["chat_facts"]["instructions"] == "Answer briefly.\nName your sources."
        assert run["steerable"]
        shown = await says(at, "/why")
        assert "- `busy`: `steer`, from `/channel`" in shown
        assert "- `denied_tools`: `bash`, from `/channel`" in shown
        assert shown[-1].startswith("- default: `agent`, `model`, ")
        await at.adapter.hears("hello", chat="c2", person="7")
        await at.until(lambda: len(at.runtime.runs) == 2)
        assert "denied_tools" not in newest_run(at), "another chat"


async def test_changes_are_undone_and_survive_a_restart(at: Bench) -> None:
    async with at.running():
        await says(at, "/channel deny bash")
        await says(at, "/channel deny web_search")
        assert await says(at, "/channel undo") == [
            "Reverted the latest change to `denied_tools` in this chat."
        ]
        await says(at, "/channel allow bash")
        assert (await says(at, "/channel"))[0].startswith("This chat has no settings")
        await says(at, "/channel undo")
        assert await says(at, "/channel") == ["**Settings of this chat:**", "- `denied_tools`: `bash`"]
        assert at.core is not None
        held = at.core.part(ChatSettings)
        again = ChatSettings(at.core)
        await again.load_settings()
        assert again.get("rec", "c1") == held.get("rec", "c1") == {"denied_tools": ("bash",)}
        person = PersonKey("recording", "7")
        exported = await at.db.transact(DATA.export, person, 0.0)
        assert [one["value"] for one in exported["chat_settings"]] == ["bash"]
        await at.db.transact(DATA.erase, person, 0.0)
        assert await at.db.transact(DATA.export, person, 0.0) == {"chat_settings": []}
        await says(at, "/channel undo")
        assert (await says(at, "/channel undo"))[0] == "There is no change to revert in this chat."


async def test_stored_values_that_this_version_does_not_know_are_ignored(at: Bench) -> None:
    async with at.running():
        assert at.core is not None
        settings, actor = at.core.part(ChatSettings), Actor("k", "recording:7", "", "rec", "c1")
        for name, value in (("busy", "sometimes"), ("color", "red"), ("model", "m")):
            await settings.change("rec", "c1", name, [value], actor)
        assert settings.get("rec", "c1") == {"model": ("m",)}


async def test_what_a_chat_has_not_set_is_not_removed(at: Bench) -> None:
    async with at.running():
        for words in ("allow bash", "reset model"):
            assert (await says(at, f"/channel {words}"))[0].startswith("This chat has no setting")
        assert (await says(at, "/channel undo"))[0] == "There is no change to revert in this chat."


async def test_settings_follow_a_chat_that_gets_another_id(at: Bench) -> None:
    async with at.running():
        await says(at, "/channel deny bash")
        assert at.adapter.context is not None
        assert at.core is not None
        await at.adapter.context.inbox.migrate_chat("c1", "c2")
        held = at.core.part(ChatSettings)
        assert (held.get("rec", "c1"), held.get("rec", "c2")) == ({}, {"denied_tools": ("bash",)})


@pytest.mark.parametrize(
    "words",
    [
        *(
            "model",
            "model a b",
            "busy sometimes",
            "deny",
            "reset color",
            "paint it",
            "instructions",
            "undo now",
        ),
        *(
            "approvers everybody",
            "skills default pdf-*",
            "messages_per_hour many",
            "mention maybe",
            "allow bash",
        ),
    ],
)
async def test_wrong_words_change_nothing(at: Bench, words: str) -> None:
    async with at.running():
        answer = await says(at, f"/channel {words}")
        assert answer[0].startswith(("Write `/channel`", "Invalid value", "This chat has no setting")), answer
        assert (await says(at, "/channel"))[0].startswith("This chat has no settings")


async def test_members_may_see_but_not_change(at: Bench) -> None:
    at = replace(at, role=Role.MEMBER)
    async with at.running():
        assert "admins" in (await says(at, "/channel deny bash"))[0].lower()
        assert (await says(at, "/why"))[0] == "**Settings for you in this chat:**"
