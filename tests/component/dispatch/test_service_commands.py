"""`/restart`, `/reload` and `/announce`: the service itself, for admins."""

from __future__ import annotations

import pytest

from agent.config.errors import ConfigError, ConfigErrors
from agent.shared.schemas import ConfigProblem
from bot.account_state import AccountState, Live
from bot.commands.service import RECENT
from bot.config import Config, LoadedConfig, Rejected, Reloaded
from bot.domain import ChatKind, Origin, Sender
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_people_commands import ADMIN, MEMBER, says


@pytest.fixture
def team(at: Bench) -> Bench:
    """A bench where the rules decide."""
    at.role = None
    at.runtime.script = answer_with("hello")
    return at


@pytest.mark.parametrize("words", ["/restart rec", "/reload", "/announce hello"])
async def test_they_are_for_admins(team: Bench, words: str) -> None:
    async with team.running():
        assert (await says(team, words, MEMBER)).startswith("Only admins can use")
    assert team.restarted == []


async def test_the_state_of_accounts_is_told_in_the_language_of_the_chat(team: Bench) -> None:
    async with team.running():
        team.live = AccountState(Live.LIVE, identity="@bot", last_event=team.clock.now() - 5)
        told = await says(team, "/accounts")
        assert "**live** as @bot, last event" in told and told.endswith("s ago")
        team.locale = "zh"
        told = await says(team, "/accounts")
        assert "身份 @bot" in told and "秒前" in told
        assert " ago" not in told and " as " not in told


async def test_an_account_starts_anew(team: Bench) -> None:
    async with team.running():
        assert (await says(team, "/restart rec")).startswith("Restarting `rec`.")
        assert await says(team, "/restart reg") == "There is no account named `reg`. Did you mean `rec`?"
        assert await says(team, "/restart") == "Which account? Choose one of `rec`."
    assert team.restarted == ["rec", "reg"]


async def test_the_configuration_is_read_now(team: Bench) -> None:
    async with team.running():
        assert await says(team, "/reload") == "`config.yaml` has not changed."
        team.reloaded = Reloaded(LoadedConfig(Config()), frozenset({"limits", "access"}))
        assert "Changed: `access`, `limits`." in await says(team, "/reload")
        team.runtime.management.config_problems = [
            ConfigProblem(where="guardrails", what="has no list"),
            ConfigProblem(where="models", what="is slow", serious=False),
        ]
        assert (await says(team, "/reload")).splitlines()[1:] == [
            "",
            "⚠️ The agent can't use the configuration until these problems are fixed:",
            "",
            "- `guardrails: has no list`",
        ]
        team.reloaded = Rejected(ConfigErrors([ConfigError("config.yaml", 3, "access", "is wrong")]))
        told = await says(team, "/reload")
        assert told.startswith("`config.yaml` is not valid")
        assert "access is wrong" in told.replace(":", "")


class TestAnnouncing:
    async def test_it_is_told_from_a_sentence_by_its_colon(self, team: Bench) -> None:
        group = {"chat": "g1", "kind": ChatKind.GROUP}
        async with team.running():
            await says(team, "hi", MEMBER)
            assert await says(team, "announce the release to the team", **group) == "hello"
            told = await says(team, "announce: **Down** at noon", **group)
            assert told == "Sending the announcement to 1 other chat."
            await team.until(lambda: "📣 **Down** at noon" in team.adapter.texts(f"private-{MEMBER}"))

    async def test_every_chat_where_somebody_was_answered_hears_it_once(self, team: Bench) -> None:
        async with team.running():
            await says(team, "hi", MEMBER)
            await says(team, "hi again", MEMBER)
            await says(team, "hi", "8", chat="g1", kind=ChatKind.GROUP)
            other = Origin("rec", "recording", "g1", ChatKind.GROUP, "u99", Sender("8"), "t2")
            await says(team, "hi", "8", chat="g1", origin=other)
            await says(team, "/status", "8")
            assert (
                await says(team, "/announce **Down** at noon\nfor an hour")
                == "Sending the announcement to 2 other chats."
            )
            heard = "📣 **Down** at noon\nfor an hour"
            await team.until(
                lambda: all(heard in team.adapter.texts(chat) for chat in (f"private-{MEMBER}", "g1"))
            )
            await team.rest(1.0)
            assert team.adapter.texts(f"private-{MEMBER}").count(heard) == 1
            assert team.adapter.texts("g1").count(heard) == 1
            assert heard not in team.adapter.texts("private-8")
            assert heard not in team.adapter.texts(f"private-{ADMIN}")

    async def test_not_who_was_silent_for_long(self, team: Bench) -> None:
        async with team.running():
            await says(team, "hi", MEMBER)
            await team.clock.leap(RECENT + 1)
            assert (await says(team, "/announce hello")).startswith(
                "I haven't answered anyone in another chat"
            )

    async def test_not_who_may_not_use_it_any_more(self, team: Bench) -> None:
        async with team.running():
            await says(team, "/allow 30")
            await says(team, "hi", "30")
            await says(team, "/revoke 30")
            assert (await says(team, "/announce hello")).startswith(
                "I haven't answered anyone in another chat"
            )

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("/announce", "What should I announce?"),
            (f"/announce {'x' * 2001}", "Announcements can be up to 2,000"),
        ],
    )
    async def test_what_cannot_be_announced(self, team: Bench, words: str, told: str) -> None:
        async with team.running():
            await says(team, "hi", MEMBER)
            assert (await says(team, words)).startswith(told)
