"""People, audit log and usage in the web console."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bot.store.admission_types import Verdict
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.conversations import list_conversations
from bot.store.people import Pairing
from bot.store.read_models import list_turns
from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
from tests.browser.tab import PHONE, opened
from tests.contract.store.inbound_messages import BEN, accept, admission, message
from tests.platforms.web.serving import World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
CODE = "SECR-ETSS"


async def knocks(service: World) -> None:
    """Let two people without access write, so that they get codes."""
    db, now = service.service.db, service.service.clock.now()
    for of, code in ((message(), CODE), (message(sender=BEN, chat="c2"), "OTHE-RRRR")):
        asked = admission(of, Verdict.NOTICE, notice="x", pairing=Pairing(code, 3600.0))
        await accept(db, asked, now=now)


async def roles(service: World) -> dict[str, str]:
    given = (await service.http.get("/api/access")).json()["given"]
    return {one["entry"]: one["role"] for one in given}


async def welcomed(service: World) -> list[str]:
    """Return the chats that were notified, sorted."""
    db = service.service.db
    found = [
        (one.key.chat, (await db.transact(list_turns, one.id))[0])
        for one in await db.transact(list_conversations, "tg")
    ]
    return sorted(chat for chat, turn in found if turn.parts[0].content.startswith("You now have access."))


@pytest.mark.parametrize("size", [{"width": 1200, "height": 900}, PHONE], ids=["wide", "phone"])
async def test_access_requests_are_approved(browser: Browser, tmp_path: Path, size: dict[str, int]) -> None:
    async with world(tmp_path) as service:
        await knocks(service)
        async with opened(browser, service, "/#/people", viewport=size) as tab:
            tab.refused = (404,)
            await tab.row("Ann (telegram:7)", "tg")
            assert "SECR" not in await tab.page.content()
            await tab.press("Approve by code")
            await tab.dialog.get_by_label("Code").fill("WRON-GGGG")
            await tab.dialog.get_by_role("button", name="Approve").click()
            await expect(tab.dialog.get_by_role("alert")).to_contain_text(
                "no pending access request has this code"
            )
            await tab.dialog.get_by_label("Code").fill(CODE.lower())
            await tab.dialog.get_by_label("Role").select_option("owner")
            await tab.dialog.get_by_role("button", name="Approve").click()
            await expect(tab.said).to_have_text("Access approved. They have been notified.")
            await tab.row("Ann (tg:7)", "owner", "web:owner")
            await tab.press("Approve: Ben")
            await expect(tab.dialog.get_by_label("Person or group")).to_have_value("tg:8")
            await tab.dialog.get_by_role("button", name="Approve").click()
            await expect(tab.box).to_contain_text("No pending requests.")
            await expect(tab.said).to_have_text("Access approved. They have been notified.")
            await tab.row("Ben (tg:8)", "member")
            assert await roles(service) == {"tg:7": "owner", "tg:8": "member"}
            assert await welcomed(service) == ["c1", "c2"]
            assert await tab.fits()


async def test_roles_are_granted_changed_and_revoked(browser: Browser, tmp_path: Path) -> None:
    extra = 'access: {owners: ["telegram:1"], default: closed}'
    async with world(tmp_path, extra=extra) as service, opened(browser, service, "/#/people") as tab:
        tab.refused = (409, 422)
        await tab.row("telegram:1", "owner")
        await tab.press("Grant role")
        who = tab.dialog.get_by_label("Person or group")
        save = tab.dialog.get_by_role("button", name="Save")
        for wrong, told in (("ann", "expected platform:id"), ("telegram:1", "change it there")):
            await who.fill(wrong)
            await tab.dialog.get_by_label("Role").select_option("blocked")
            await save.click()
            await expect(tab.dialog.get_by_role("alert")).to_contain_text(told)
        await who.fill("slack:U1A")
        await tab.dialog.get_by_label("Role").select_option("member")
        await save.click()
        await tab.row("slack:U1A", "member")
        await tab.press("Change: slack:U1A")
        await tab.dialog.get_by_label("Role").select_option("admin")
        await save.click()
        await tab.row("slack:U1A", "admin")
        assert await roles(service) == {"slack:U1A": "admin"}
        await tab.press("Revoke: slack:U1A", sure=True)
        await expect(tab.said).to_have_text("Role revoked: slack:U1A.")
        await expect(tab.box).to_contain_text("No roles granted yet.")
        assert await roles(service) == {}


async def test_configured_roles_are_listed_per_account(browser: Browser, tmp_path: Path) -> None:
    extra = """
channels:
  one: {platform: telegram, enabled: false, bot_token: "1:x"}
  two: {platform: telegram, enabled: false, bot_token: "2:x",
        access: {default: closed, owners: ["telegram:5"]}}
access: {owners: ["telegram:1"]}
"""
    async with world(tmp_path, extra=extra) as service, opened(browser, service, "/#/people") as tab:
        await tab.row("telegram:1", "owner", "all except two")
        await expect(tab.box).to_contain_text("On two: Everyone else gets a notice in a private chat,")


async def test_audit_events_of_everyone_and_of_one_person(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        now = service.service.clock.now()
        for number in range(52):
            actor = Actor(f"k{number}", f"telegram:{number % 2}", "Ann", "tg", "c1")
            await service.service.db.transact(
                record_event, actor, AuditEvent("command", f"/{number}"), now + number
            )
        async with opened(browser, service, "/#/audit") as tab:
            await tab.row("Ann (telegram:1)", "command", "/51", "tg · c1")
            await expect(tab.box.locator("tbody tr")).to_have_count(50)
            await tab.press("Show more")
            # The 52 commands, and the sign-in of this tab.
            await expect(tab.box.locator("tbody tr")).to_have_count(53)
            await tab.box.get_by_label("Person").fill("telegram:1")
            await tab.press("Show")
            await expect(tab.box.locator("tbody tr")).to_have_count(26)
            await expect(tab.box.get_by_label("Person")).to_have_value("telegram:1")
            await tab.page.go_back()
            await expect(tab.box.locator("tbody tr")).to_have_count(50)


async def test_usage_by_day_and_by_person(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        for person, tokens in (("web:owner", 1000), ("telegram:7", 500)):
            turn = (await service.turn((await service.say(conversation, "hello"))["turn"]))["id"]
            spent = TurnUsage(person, tokens, 1, tokens + 1)
            await service.service.db.transact(save_turn, turn, [], service.service.clock.now(), spent=spent)
        async with opened(browser, service, "/#/usage", viewport=PHONE) as tab:
            await expect(tab.box.locator(".facts").first).to_contain_text("1,502")
            await expect(tab.box.locator("svg rect")).to_have_count(30)
            today = tab.box.locator("svg rect title").last
            assert (await today.text_content() or "").endswith(": 1,502")
            await expect(tab.box.get_by_role("img")).to_have_accessible_name(
                "Tokens per day for the last 30 days. The table below shows the same data."
            )
            await tab.box.get_by_text("Show as table").click()
            await tab.row("2", "1,500", "1,502")
            assert await tab.fits()
            await tab.box.get_by_label("Period", exact=True).select_option("7")
            await expect(tab.box.locator("svg rect")).to_have_count(7)
            await tab.box.locator("section").last.get_by_role("link").first.click()
            await expect(tab.box.locator("h2").first).to_have_text("Tokens used by telegram:7")
            await expect(tab.box.locator(".facts").first).to_contain_text("501")
            await tab.box.get_by_role("link", name="Everyone").click()
            await expect(tab.box.locator("h2").first).to_have_text("Tokens used by everyone")
