"""Roles that people give each other in the chat, strangers who are let in, and what is written down of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from bot.access import AccessPolicy, GrantedRoles, Role
from bot.access.one_time_codes import ALPHABET, create_code, normalize_code
from bot.config import AccessConfig
from bot.domain import ChatKind, Origin, Sender
from bot.features.people.commands import MOST_WRONG
from bot.store.admission_types import Verdict
from bot.store.audit import Actor, AuditEvent, list_audit_entries
from bot.store.people import (
    MOST_WAITING,
    Pairing,
    RoleGrant,
    grant_role,
    list_pairing_requests,
    list_role_grants,
)
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.contract.store.inbound_messages import accept, admission, message

OWNER, ADMIN, MEMBER, STRANGER = "1", "9", "7", "30"
HOUR = 3600.0


@pytest.fixture
def team(at: Bench) -> Iterator[Bench]:
    """A bench where the rules decide, strangers pair, and everything is answered."""
    at.role, at.default = None, "pair"
    at.runtime.script = answer_with("hello")
    yield at


async def says(at: Bench, text: str, person: str = ADMIN, *, chat: str = "", **more: object) -> str:
    """What somebody is told for what they say, in a private chat of theirs unless a chat is named."""
    chat = chat or f"private-{person}"
    before = len(at.adapter.texts(chat))
    await at.adapter.hears(text, chat=chat, person=person, **more)
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    await at.rest(0.2)
    return at.adapter.texts(chat)[-1]


async def silence(at: Bench, text: str, person: str, *, chat: str = "", **more: object) -> None:
    """Nobody answers that."""
    chat = chat or f"private-{person}"
    before = at.adapter.texts(chat)
    await at.adapter.hears(text, chat=chat, person=person, **more)
    await at.rest(1.0)
    assert at.adapter.texts(chat) == before


async def knocks(at: Bench, person: str = STRANGER) -> str:
    """A stranger writes, and is told a code."""
    told = await says(at, "hi", person)
    found = re.search(r"/pair (\S+)`", told)
    assert found, told
    return found[1]


async def crown(at: Bench) -> None:
    """Somebody is an owner, by the page."""
    one = RoleGrant(f"recording:{OWNER}", "owner", "", "web:owner", 0.0)
    await at.db.transact(grant_role, one, Actor("test", "web:owner", "", "web", ""), 0.0)


async def deeds(at: Bench) -> list[AuditEvent]:
    return [one.deed for one in await at.db.transact(list_audit_entries)]


class TestPairing:
    async def test_a_code_lets_a_stranger_in(self, team: Bench) -> None:
        async with team.running():
            code = await knocks(team)
            assert (
                await says(team, f"/pair {code}")
                == "`recording:30 (P30)` now has access as **member**. Their notification is queued."
            )
            await team.until(
                lambda: team.adapter.texts(f"private-{STRANGER}")[-1].startswith("You now have access.")
            )
            assert await says(team, "hi again", STRANGER) == "hello"
        assert await deeds(team) == [AuditEvent("give", "rec:30", "member")]

    async def test_an_owner_can_make_more_of_them(self, team: Bench) -> None:
        async with team.running():
            code = await knocks(team)
            assert (
                await says(team, f"/pair {code} owner")
                == "Only an owner can grant or change the role **owner**."
            )
            await crown(team)
        async with team.running():
            assert "now has access as **owner**" in await says(team, f"/pair {code} owner", OWNER)
            assert "`rec:30`: **owner**" in await says(team, f"/role {STRANGER}", STRANGER)

    @pytest.mark.parametrize("written", [str.lower, lambda code: code.replace("-", " "), "  {}  ".format])
    async def test_it_may_be_written_carelessly(self, team: Bench, written: object) -> None:
        async with team.running():
            code = await knocks(team)
            assert callable(written)
            assert "now has access" in await says(team, f"/pair {written(code)}")

    async def test_a_role_that_there_is_not_is_no_wrong_code(self, team: Bench) -> None:
        async with team.running():
            code = await knocks(team)
            for _ in range(MOST_WRONG + 1):
                assert await says(team, f"/pair {code} emperor") == (
                    "There is no role named `emperor`. Choose one of `owner`, `admin`, `member`, `blocked`."
                )
            assert "now has access" in await says(team, f"/pair {code} member")

    async def test_a_stranger_hears_of_it_once_while_it_is_good(self, team: Bench) -> None:
        async with team.running():
            code = await knocks(team)
            await silence(team, "hello?", STRANGER)
            await team.clock.advance(HOUR)
            again = await knocks(team)
            assert again != code
            assert (await says(team, f"/pair {code}")).startswith(
                "There is no pending request with that code."
            )
            assert "now has access" in await says(team, f"/pair {again}")

    async def test_few_wait_at_once(self, team: Bench) -> None:
        async with team.running():
            for number in range(MOST_WAITING):
                await knocks(team, str(100 + number))
            assert "too many access requests are pending" in await says(team, "hi", "200")
            await silence(team, "hi", "200")
            await team.clock.advance(HOUR)
            await knocks(team, "200")

    async def test_who_guesses_is_locked_out(self, team: Bench) -> None:
        async with team.running():
            code = await knocks(team)
            for _ in range(MOST_WRONG):
                assert (await says(team, "/pair WRON-GONE")).startswith(
                    "There is no pending request with that code."
                )
            assert (await says(team, f"/pair {code}")).startswith("Too many wrong codes (5 in ")
            await team.clock.advance(HOUR)
            assert "now has access" in await says(team, f"/pair {await knocks(team)}")

    async def test_members_can_let_nobody_in(self, team: Bench) -> None:
        async with team.running():
            code = await knocks(team)
            assert await says(team, f"/pair {code}", MEMBER) == "Only admins can use `/pair`."
            assert await deeds(team) == [AuditEvent("refused", "/pair", code)]

    async def test_who_waits_is_shown_without_the_codes(self, team: Bench) -> None:
        async with team.running():
            assert await says(team, "/pair") == "There are no pending access requests."
            code = await knocks(team)
            shown = await says(team, "/pair")
            assert "`recording:30 (P30)` on `rec`, expires in 60 min" in shown
            assert code not in shown

    async def test_groups_hear_nothing(self, team: Bench) -> None:
        async with team.running():
            await silence(team, "hi", STRANGER, chat="g1", kind=ChatKind.GROUP)
            assert await team.db.transact(list_pairing_requests, team.clock.now()) == []

    async def test_a_role_given_ends_the_waiting(self, team: Bench) -> None:
        async with team.running():
            code = await knocks(team)
            await says(team, f"/allow {STRANGER}")
            assert (await says(team, f"/pair {code}")).startswith(
                "There is no pending request with that code."
            )

    async def test_closed_as_before(self, team: Bench) -> None:
        team.default = "closed"
        async with team.running():
            assert "config.yaml" in await says(team, "hi", STRANGER)
            await silence(team, "hi", STRANGER)


class TestAccounts:
    """What is said on one account holds there."""

    async def test_a_role_is_given_on_the_account_where_it_is_said(self, team: Bench) -> None:
        async with team.running():
            await says(team, f"/pair {await knocks(team)}")
            await says(team, "/allow 31")
            await says(team, "/allow here", chat="g1", kind=ChatKind.GROUP)
            given = [one.entry for one in await team.db.transact(list_role_grants)]
            assert given == ["rec:30", "rec:31", "rec:g1"]
            people = GrantedRoles(team.db)
            await people.load_grants()
            policy = AccessPolicy(AccessConfig(), people)
            for entry in given:
                sender = Sender(entry.partition(":")[2])
                where = [
                    Origin(account, "recording", "c1", ChatKind.PRIVATE, "1", sender)
                    for account in ("rec", "other")
                ]
                if sender.id.isdigit():
                    assert [policy.role_of(one) for one in where] == [Role.MEMBER, Role.STRANGER]

    async def test_strangers_of_another_account_are_none_of_its_admins_business(self, team: Bench) -> None:
        asked = admission(message(), Verdict.NOTICE, notice="x", pairing=Pairing("SECR-ETSS", HOUR))
        await accept(team.db, asked, now=team.clock.now())
        async with team.running():
            assert await says(team, "/pair") == "There are no pending access requests."
            assert (await says(team, "/pair SECR-ETSS")).startswith(
                "There is no pending request with that code."
            )
            [still] = await team.db.transact(list_pairing_requests, team.clock.now())
            assert (still.account, still.entry) == ("tg", "tg:7")

    @pytest.mark.parametrize("attempt", ["/allow far:30", "/role far:30 blocked", "/revoke far:30"])
    async def test_who_is_admin_of_one_gives_nothing_on_others(self, team: Bench, attempt: str) -> None:
        team.others = {"far": "elsewhere"}
        await crown(team)
        async with team.running():
            told = await says(team, attempt)
            assert told.startswith("`far:30` also covers accounts other than this one (`rec`)")
            assert await says(team, "/allow far:30", OWNER) == "`far:30` now has the role **member**."

    async def test_what_was_given_for_the_platform_is_kept_and_can_be_changed(self, team: Bench) -> None:
        one = RoleGrant("recording:30", "member", "", "", 0.0)
        await team.db.transact(grant_role, one, Actor("earlier", "web:owner", "", "web", ""), 0.0)
        async with team.running():
            assert await says(team, "hi", STRANGER) == "hello"
            assert await says(team, "/role 30") == "`recording:30`: **member**."
            assert await says(team, "/role 30 blocked") == "`recording:30` now has the role **blocked**."
            told = "`recording:30` has the role **blocked**, which applies here too. Change that entry first."
            assert await says(team, "/allow rec:30") == told
            assert await says(team, "/allow 30") == "`recording:30` now has the role **member**."
            assert await says(team, "/revoke 30") == "Revoked the role granted to `recording:30`."
            await knocks(team)

    async def test_who_is_left_with_the_role_of_the_platform_is_told(self, team: Bench) -> None:
        for entry in ("rec:30", "recording:30"):
            actor = Actor(entry, "web:owner", "", "web", "")
            await team.db.transact(grant_role, RoleGrant(entry, "member", "", "", 0.0), actor, 0.0)
        async with team.running():
            told = (
                "Revoked the role granted to `rec:30`, but `recording:30` still has the role **member**, "
                "which applies here too."
            )
            assert await says(team, "/revoke 30") == told
            assert await says(team, "/revoke 30") == "Revoked the role granted to `recording:30`."
            await knocks(team)


class TestRoles:
    async def test_allow_and_revoke(self, team: Bench) -> None:
        async with team.running():
            assert await says(team, f"/allow {STRANGER}") == "`rec:30` now has the role **member**."
            assert await says(team, "hi", STRANGER) == "hello"
            assert await says(team, f"/revoke rec:{STRANGER}") == "Revoked the role granted to `rec:30`."
            await knocks(team)
            assert (
                await says(team, f"/revoke {STRANGER}")
                == "`rec:30` has no granted role, so there is nothing to revoke."
            )
        assert await deeds(team) == [
            AuditEvent("command", "/revoke", STRANGER),
            AuditEvent("take", "rec:30"),
            AuditEvent("give", "rec:30", "member"),
        ]

    async def test_a_group(self, team: Bench) -> None:
        where = {"chat": "g1", "kind": ChatKind.GROUP}
        async with team.running():
            await silence(team, "hi", STRANGER, **where)
            assert await says(team, "/allow here", **where) == "`rec:g1` now has the role **member**."
            assert await says(team, "hi", STRANGER, **where) == "hello"
            await knocks(team)
            await says(team, "/revoke here", **where)
            await silence(team, "hi", STRANGER, **where)
            assert await says(team, "/allow here") == "`here` only works in a group, and this chat isn't one."

    async def test_blocked_people_are_never_answered(self, team: Bench) -> None:
        async with team.running():
            await says(team, "/role 30 blocked")
            await silence(team, "hi", STRANGER)
            assert await says(team, "/role 30") == "`rec:30`: **blocked**."
            await says(team, "/allow 30")
            assert await says(team, "hi", STRANGER) == "hello"

    async def test_they_outlive_a_restart(self, team: Bench) -> None:
        async with team.running():
            await says(team, f"/allow {STRANGER}")
        async with team.running():
            assert await says(team, "hi", STRANGER) == "hello"

    @pytest.mark.parametrize("wanted", ["admin", "owner"])
    async def test_admins_make_no_admins(self, team: Bench, wanted: str) -> None:
        async with team.running():
            assert (
                await says(team, f"/role 30 {wanted}")
                == f"Only an owner can grant or change the role **{wanted}**."
            )

    async def test_owners_do_and_admins_cannot_undo_it(self, team: Bench) -> None:
        await crown(team)
        async with team.running():
            assert await says(team, "/role 30 admin", OWNER) == "`rec:30` now has the role **admin**."
            for attempt in ("/role 30 member", "/role 30 blocked", "/revoke 30", "/allow 30"):
                assert (
                    await says(team, attempt)
                    == "`rec:30` has the role **admin**. Only an owner can change that."
                )
            assert "`rec:30`: **admin**, granted by `recording:1`" in await says(team, "/role", STRANGER)
            assert await says(team, "/revoke 30", OWNER) == "Revoked the role granted to `rec:30`."

    async def test_nobody_gets_round_that_by_the_name_of_the_account(self, team: Bench) -> None:
        await crown(team)
        async with team.running():
            for attempt in ("/role rec:1 blocked", "/revoke rec:1", "/role rec:1 member"):
                assert (
                    await says(team, attempt)
                    == "`rec:1` has the role **owner**. Only an owner can change that."
                )
            assert await says(team, "/whoami", OWNER, chat="x") != ""
            assert "**owner**" in await says(team, "/whoami", OWNER)

    async def test_a_row_that_cannot_be_read_gives_nothing(self, team: Bench) -> None:
        odd = Actor("odd", "web:owner", "", "web", "")
        await team.db.transact(grant_role, RoleGrant("nonsense", "member", "", "", 0.0), odd, 0.0)
        await team.db.transact(grant_role, RoleGrant("recording:30", "king", "", "", 0.0), odd, 0.0)
        async with team.running():
            await knocks(team)
            assert await says(team, "hi", MEMBER) == "hello"

    async def test_the_configuration_has_the_last_word(self, team: Bench) -> None:
        await crown(team)
        async with team.running():
            told = "`rec:9` has the role **admin** in `config.yaml`. Change it there."
            assert await says(team, "/role 9 member", OWNER) == told
            told = "`rec:7` has the role **member** in `config.yaml`. Remove it there."
            assert await says(team, "/revoke 7", OWNER) == told

    async def test_a_group_has_no_admins(self, team: Bench) -> None:
        await crown(team)
        async with team.running():
            told = (
                "The role **admin** can only be granted to individual people, not to a whole group. "
                "Please specify a person."
            )
            assert await says(team, "/role here admin", OWNER, chat="g1", kind=ChatKind.GROUP) == told
            assert await says(team, "/role recording:team:T1 admin", OWNER) == told

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("/allow", "No roles have been granted"),
            ("/role", "No roles have been granted"),
            ("/revoke", "Please specify a person or group:"),
            ("/allow @ann", "`@ann` is not a person or group."),
            ("/allow nowhere:1", "There is no platform or account named `nowhere`."),
            ("/allow recordin:1", "Did you mean `recording`"),
            ("/allow far:bob", "`far:bob` is not valid: expected a person's numeric id after far:"),
            ("/role telegram:role:7 admin", "role ids do not exist on this platform"),
            (
                "/role 30 king",
                "There is no role named `king`. Choose one of `owner`, `admin`, `member`, `blocked`.",
            ),
        ],
    )
    async def test_what_cannot_be_understood_is_told(self, team: Bench, words: str, told: str) -> None:
        team.others = {"far": "telegram"}
        async with team.running():
            assert told in await says(team, words)
        assert await team.db.transact(list_role_grants) == []


def test_codes_are_long_and_legible() -> None:
    code = create_code()
    assert re.fullmatch(r"\w{4}-\w{4}", code)
    assert set(code) <= {*ALPHABET, "-"}
    assert not {*"01IO"} & {*ALPHABET}
    assert normalize_code(f" {code.lower().replace('-', '')}\n") == code
    assert len({create_code() for _ in range(200)}) == 200
