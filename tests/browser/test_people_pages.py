"""People in the web console: access, memory, privacy, the audit log and usage."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Route, expect

from bot.access import Role
from bot.domain import Sender
from bot.features.backup.copies import record_backup
from bot.store.admission_types import Verdict
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.conversations import list_conversations
from bot.store.inbox import accept_batch
from bot.store.people import Pairing
from bot.store.read_models import list_turns
from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
from tests.browser.axe import serious
from tests.browser.furniture import LOOKS
from tests.browser.steps import Steps
from tests.browser.tab import CONSOLE, PHONE, Tab, opened
from tests.contract.store.inbound_messages import BEN, accept, admission, message
from tests.platforms.web.people import CHATS, code_for, give, signed_in
from tests.platforms.web.serving import World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]
START = f"{CONSOLE}#/"
WIDE = {"width": 1360, "height": 900}
SIZES = pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
CODE = "SECR-ETSS"
TWO_ACCOUNTS = """
channels:
  tg: {platform: telegram, enabled: false, bot_token: "1:x", access: {admins: ["telegram:7"]}}
  far: {platform: telegram, enabled: false, bot_token: "2:x"}
"""
"""Ann is an admin of `tg` alone, so that other people's data is out of her reach."""


def said(tab: Tab, text: str) -> Locator:
    """A message at the bottom with this text."""
    return tab.page.locator(".toast").filter(has_text=text)


async def knocks(service: World) -> None:
    """Let two people without access write, so that they get codes."""
    db, now = service.service.db, service.service.clock.now()
    for of, code, life in ((message(), CODE, 3600.0), (message(sender=BEN, chat="c2"), "OTHE-RRRR", 3700.0)):
        asked = admission(of, Verdict.NOTICE, notice="x", pairing=Pairing(code, life))
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


async def writes(service: World, text: str) -> None:
    """Let Ann (telegram:7), a member, write in the console and get an answer."""
    async with signed_in(service) as ann:
        conversation = (await ann.post("/api/conversations", json={})).json()["id"]
        posted = await ann.post(f"/api/conversations/{conversation}/messages", json={"text": text})
        await service.turn(posted.json()["turn"])


async def stored(service: World) -> list[str]:
    """Return the texts of Ann's messages that are stored."""
    found = (await service.http.get("/api/people/telegram:7/data")).json()
    return [one["text"] for one in found["messages"]]


def backup(service: World) -> str:
    """Record a backup that exists, and return its path."""
    archive = service.home / "backups-of-the-team" / "roebot-2026-03-01.tar.gz"
    archive.parent.mkdir()
    archive.write_text("")
    record_backup(service.home, archive, 5.0)
    return str(archive)


async def confirm(tab: Tab, name: str) -> None:
    await tab.dialog.get_by_label("To confirm").fill(name)
    await tab.dialog.get_by_role("button", name="Erase data", exact=True).click()


@SIZES
async def test_access_requests_are_approved(browser: Browser, tmp_path: Path, size: dict[str, int]) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await knocks(service)
        async with opened(browser, service, f"{START}people", viewport=size) as tab:
            tab.refused = (404,)
            requests = tab.page.get_by_role("list", name="Access requests")
            await expect(requests.locator(".cut")).to_have_text(["Ben", "Ann"])
            assert "SECR" not in await tab.page.content()
            await tab.page.locator(".head").get_by_role("button", name="More").click()
            await tab.page.get_by_role("menuitem", name="Approve by code").click()
            await tab.dialog.get_by_label("Code").fill("WRON-GGGG")
            await tab.dialog.get_by_role("button", name="Approve").click()
            alert = tab.dialog.get_by_role("alert")
            await expect(alert).to_contain_text("no pending access request has this code")
            await tab.dialog.get_by_label("Code").fill(CODE.lower())
            await tab.dialog.get_by_label("Role").select_option("owner")
            await tab.dialog.get_by_role("button", name="Approve").click()
            await expect(said(tab, "Access approved. Their notification is queued.")).to_be_visible()
            await requests.get_by_role("button", name="Approve: Ben").click()
            await expect(said(tab, "Access approved for Ben (Member).")).to_be_visible()
            await expect(requests).to_have_count(0)
            assert await roles(service) == {"tg:7": "owner", "tg:8": "member"}
            assert await welcomed(service) == ["c1", "c2"]
            assert await tab.fits()


async def test_roles_are_granted_changed_and_revoked(browser: Browser, tmp_path: Path) -> None:
    extra = f'{CHATS}access: {{owners: ["telegram:1"], default: closed}}'
    async with world(tmp_path, extra=extra) as service:
        await accept(service.service.db, admission(message()), now=service.service.clock.now())
        async with opened(browser, service, f"{START}people", viewport=WIDE) as tab:
            tab.refused = (409, 422)
            table = tab.page.get_by_role("table", name="People")
            await expect(table).to_contain_text("All accounts on Telegram")
            await expect(tab.page.locator("#content")).to_contain_text("Everyone else gets a notice")
            await table.get_by_role("button", name="Role of").click()
            await expect(tab.page.get_by_role("menu")).to_contain_text("This role is set in config.yaml.")
            assert await serious(tab.page) == []
            await tab.page.get_by_role("menuitem", name="Settings").click()
            await expect(tab.page.locator("h1")).to_have_text("Settings")
            await tab.page.go_back()
            await tab.page.get_by_role("button", name="Grant role").click()
            who = tab.dialog.get_by_role("combobox", name="Person or group")
            await who.fill("telegram:1")
            await tab.page.get_by_role("option", name="telegram:1").click()
            await tab.dialog.get_by_label("Role").select_option("blocked")
            await tab.dialog.get_by_role("button", name="Save").click()
            await expect(tab.dialog.get_by_role("alert")).to_contain_text("change it there")
            await who.fill("ann")
            await tab.page.get_by_role("option", name="Ann").click()
            await tab.dialog.get_by_label("Role").select_option("admin")
            await tab.dialog.get_by_label("Where").select_option("tg")
            await tab.dialog.get_by_role("button", name="Save").click()
            await expect(table.get_by_role("link", name="Ann")).to_be_visible()
            assert await roles(service) == {"tg:7": "admin"}
            await table.get_by_role("link", name="Ann").click()
            await tab.page.get_by_role("button", name="Change: Ann").click()
            await tab.dialog.get_by_label("Role").select_option("member")
            await tab.dialog.get_by_role("button", name="Save").click()
            await expect(table).to_contain_text("Member")
            assert await roles(service) == {"tg:7": "member"}
            await tab.page.get_by_role("button", name="Change: Ann").click()
            await expect(tab.dialog.get_by_label("Where")).to_have_value("tg")
            await tab.dialog.get_by_label("Role").select_option("admin")
            await tab.dialog.get_by_label("Where").select_option("All accounts on Telegram: tg")
            await tab.dialog.get_by_role("button", name="Save").click()
            await expect(tab.page.locator(".panel")).to_contain_text("All accounts on Telegram")
            assert await roles(service) == {"telegram:7": "admin"}
            await tab.page.get_by_role("button", name="Revoke: Ann").click()
            await tab.dialog.locator(".primary").click()
            await expect(said(tab, "Role revoked: Ann.")).to_be_visible()
            assert await roles(service) == {}
            await tab.page.get_by_role("link", name="Everyone").click()
            await expect(table.get_by_role("link", name="Ann")).to_be_visible()


async def test_somebody_becomes_admin_of_one_account_in_four_steps(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=TWO_ACCOUNTS) as service:
        for one in (message(), message(sender=BEN, chat="c2")):
            await accept(service.service.db, admission(one), now=service.service.clock.now())
        async with opened(browser, service, viewport=WIDE) as tab:
            page, steps = tab.page, Steps(tab.page)
            await steps.opens("People")
            await steps.fills(page.get_by_role("searchbox", name="Search people"), "ben")
            await steps.clicks(page.get_by_role("button", name="Role of Ben: default"))
            await steps.clicks(page.get_by_role("menuitemradio", name="Admin on far"))
            await expect(said(tab, "Role of Ben saved: Admin on far.")).to_be_visible()
            assert (await roles(service), steps.count) == ({"far:8": "admin"}, 4)
            await expect(page.get_by_role("link", name="Ben", exact=True)).to_be_focused()
            await page.get_by_role("button", name="Undo").click()
            await expect(page.get_by_role("button", name="Role of Ben: default")).to_be_visible()
            assert await roles(service) == {}
            await page.keyboard.press("Control+k")
            await page.keyboard.type("ann")
            await tab.dialog.get_by_role("option", name="Ann").click()
            change = page.locator(".panel").get_by_role("button", name="Change role")
            await change.click()
            assert await serious(page) == []
            await page.get_by_role("menuitemradio", name="Owner on all Telegram accounts").click()
            await expect(tab.dialog).to_contain_text("Owners can do everything")
            await tab.dialog.get_by_role("button", name="Cancel").click()
            assert await roles(service) == {}
            await change.click()
            await page.get_by_role("menuitemradio", name="Admin on far").click()
            await expect(page.locator(".panel .thing").first).to_contain_text("far")
            assert await roles(service) == {"far:7": "admin"}


async def test_a_role_on_an_account_that_is_named_like_its_platform(browser: Browser, tmp_path: Path) -> None:
    """An entry `telegram:7` would count on both accounts."""
    extra = """channels:
  telegram: {platform: telegram, enabled: false, bot_token: "1:x"}
  far: {platform: telegram, enabled: false, bot_token: "2:x"}
access: {admins: ["telegram:1"]}
"""
    async with world(tmp_path, extra=extra) as service:
        of = message()
        there = replace(of, origin=replace(of.origin, account="telegram"))
        await service.service.db.transact(accept_batch, "telegram", [admission(there)], "", 1.0, 20)
        async with opened(browser, service, f"{START}people", viewport=PHONE) as tab:
            await tab.page.goto(f"{service.url}{START}people?show=all")
            await tab.page.get_by_role("button", name="Role of Ann").click()
            await tab.page.get_by_role("menuitemradio", name="Admin on telegram", exact=True).click()
            await expect(said(tab, "Role of Ann saved: Admin on telegram.")).to_be_visible()
            await expect(tab.page.locator(".toast")).to_have_count(1)
            assert await serious(tab.page) == []
            row = tab.page.get_by_role("row").filter(has=tab.page.get_by_role("link", name="Ann"))
            await expect(row).to_contain_text("Admin")
            await expect(row.get_by_role("cell", name="telegram", exact=True)).to_be_visible()
            await tab.page.goto(f"{service.url}{START}people?show=all")
            await tab.page.get_by_role("link", name="Ann").click()
            await expect(tab.page.locator('.row-link[aria-current="true"]')).to_contain_text("Ann")
        core = service.service.core
        assert await roles(service) == {}
        for account, role in (("telegram", Role.ADMIN), ("far", Role.STRANGER)):
            origin = replace(of.origin, account=account)
            assert core.account(account).policy.role_of(origin) is role
        boss = Sender("1", "Boss")
        for account in ("telegram", "far"):
            origin = replace(of.origin, account=account, sender=boss)
            assert core.account(account).policy.role_of(origin) is Role.ADMIN


async def test_audit_events_of_everyone_and_of_one_person(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await accept(service.service.db, admission(message()), now=service.service.clock.now())
        now = service.service.clock.now()
        for number in range(52):
            actor = Actor(f"k{number}", f"telegram:{7 + number % 2}", "Ann", "tg", "c1")
            event = AuditEvent("command", f"/{number}")
            await service.service.db.transact(record_event, actor, event, now + number)
        async with opened(browser, service, f"{START}audit") as tab:
            events = tab.page.get_by_role("list", name="Audit log").get_by_role("listitem")
            await expect(events).to_have_count(50)
            await tab.page.get_by_role("button", name="Show more").click()
            # The 52 commands, and the sign-in of this tab.
            await expect(events).to_have_count(53)
            await tab.page.get_by_role("combobox", name="Person").fill("ann")
            await tab.page.get_by_role("option", name="Ann").click()
            await expect(events).to_have_count(26)
            await expect(tab.page.get_by_role("combobox", name="Person")).to_have_value("Ann")
            await tab.page.get_by_role("searchbox").fill("/50")
            await expect(events).to_have_count(1)
            await tab.page.get_by_role("link", name="Clear filters").click()
            await expect(events).to_have_count(50)


async def test_usage_by_day_and_by_person(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        for person, tokens in (("web:owner", 1000), ("telegram:7", 500)):
            turn = (await service.turn((await service.say(conversation, "hello"))["turn"]))["id"]
            spent = TurnUsage(person, tokens, 1, tokens + 1)
            await service.service.db.transact(save_turn, turn, [], service.service.clock.now(), spent=spent)
        async with opened(browser, service, f"{START}usage", viewport=PHONE) as tab:
            content = tab.page.locator("#content")
            await expect(content.locator(".facts")).to_contain_text("1,502")
            await expect(content.locator("svg .bar")).to_have_count(30)
            await expect(content.get_by_role("img")).to_have_accessible_name(
                "Tokens per day for the last 30 days. The table below shows the same data."
            )
            await content.get_by_text("Show as table").click()
            assert await tab.fits()
            await content.get_by_label("Period", exact=True).select_option("7")
            await expect(content.locator("svg .bar")).to_have_count(7)
            await content.get_by_role("table", name="Person").get_by_role("link").last.click()
            await expect(content.locator(".facts")).to_contain_text("501")
            await expect(content.get_by_role("table", name="Model")).to_be_visible()
            async with tab.page.expect_download() as download:
                await tab.page.get_by_role("link", name="Download CSV").click()
            assert "501" in Path(await (await download.value).path()).read_text()


async def test_facts_are_added_edited_and_deleted(browser: Browser, tmp_path: Path) -> None:
    async with (
        world(tmp_path) as service,
        opened(browser, service, f"{START}memory", viewport=PHONE) as tab,
    ):
        tab.refused = (422,)
        content = tab.page.locator("#content")
        await expect(content).to_contain_text("No facts yet.")
        for old, new in (("", "Likes tea"), ("Likes tea", "Likes green tea")):
            await tab.page.get_by_role("button", name=f"Edit: {old}" if old else "Add fact").click()
            await tab.dialog.get_by_label("Fact").fill(new)
            await tab.dialog.get_by_label("Category").select_option("preference")
            await tab.dialog.get_by_role("button", name="Save").click()
            await expect(content.get_by_role("listitem").filter(has_text=new)).to_be_visible()
        assert await tab.fits()
        await tab.page.get_by_role("button", name="Delete: Likes green tea").click()
        await tab.dialog.locator(".primary").click()
        await expect(content).to_contain_text("No facts yet.")
        await content.get_by_role("combobox", name="Memory of").fill("group:web:c1")
        await tab.page.get_by_role("option", name="group:web:c1").click()
        await expect(tab.page).to_have_url(f"{service.url}{START}memory?scope=group%3Aweb%3Ac1")


@pytest.mark.parametrize("look", LOOKS)
async def test_an_owner_erases_a_person_and_sees_the_report(
    browser: Browser, tmp_path: Path, look: str
) -> None:
    options: dict[str, Any] = LOOKS[look]
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        archive = backup(service)
        async with opened(browser, service, f"{START}people/telegram%3A7", **options) as tab:
            await tab.page.get_by_role("button", name="Erase data…").click()
            for sentence in ("This can't be undone.", "The agent starts over", "Existing backups"):
                await expect(tab.dialog).to_contain_text(sentence)
            button = tab.dialog.get_by_role("button", name="Erase data", exact=True)
            await expect(button).to_be_disabled()
            await tab.dialog.get_by_label("To confirm").fill("Ben")
            await expect(button).to_be_disabled()
            await tab.page.keyboard.press("Enter")
            assert await serious(tab.page) == []
            assert "my secret" in await stored(service)
            await confirm(tab, " Ann ")
            await expect(tab.dialog.get_by_role("heading")).to_have_text("Data erased: Ann.")
            await expect(tab.dialog).to_contain_text("Messages and their answers")
            await expect(tab.dialog).to_contain_text(archive)
            assert await serious(tab.page) == []
            assert await tab.fits()
            assert "my secret" not in await stored(service)
            await tab.dialog.get_by_role("button", name="Close").click()
            await expect(said(tab, "Data erased: Ann.")).to_be_visible()
            await tab.page.goto(f"{service.url}{START}privacy?person=telegram:7")
            await expect(tab.page.locator("#content")).to_contain_text("Finished")
            await expect(tab.page.locator("#content")).to_contain_text(archive)
            assert await tab.fits()


async def test_members_erase_their_own_data_and_are_signed_out(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        archive = backup(service)
        link = f"{CONSOLE}#code={await code_for(service)}"
        async with opened(browser, service, link, viewport=PHONE) as ann:
            await expect(ann.page.locator("#app[data-person='telegram:7']")).to_have_count(1)
            await ann.page.goto(f"{service.url}{START}privacy")
            content = ann.page.locator("#content")
            await expect(content).to_contain_text("Your data")
            await expect(content).to_contain_text("No erasure has been requested.")
            await expect(content.get_by_role("combobox")).to_have_count(0)
            await ann.page.get_by_role("button", name="Erase data…").click()
            await expect(ann.dialog).to_contain_text("You are signed out of the web console.")
            # The session ends with the erasure, but the report stays until it is closed.
            ann.refused = (401,)
            await confirm(ann, "Ann")
            await expect(ann.dialog.get_by_role("heading")).to_have_text("Data erased: your data.")
            await expect(ann.dialog.get_by_role("listitem")).to_have_text([Path(archive).name])
            await ann.dialog.get_by_role("button", name="Sign in again").click()
            await expect(ann.page.locator("#sign-in")).to_be_visible()
            assert "my secret" not in await stored(service)


async def test_an_erasure_in_progress_can_be_left_and_a_lost_request_repeated(
    browser: Browser, tmp_path: Path
) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        requests, let_go = list[str](), asyncio.Event()

        async def hold(route: Route) -> None:
            """Lose the first request, and delay the second one."""
            requests.append(route.request.method)
            if requests.count("DELETE") == 1 and route.request.method == "DELETE":
                await route.abort()
                return
            if route.request.method == "DELETE":
                await let_go.wait()
            await route.continue_()

        async with opened(browser, service, f"{START}privacy?person=telegram:7") as tab:
            await tab.page.route("**/api/people/**", hold)
            await tab.page.get_by_role("button", name="Erase data…").click()
            await confirm(tab, "Ann")
            alert = tab.dialog.get_by_role("alert")
            await expect(alert).to_contain_text("If the service received the request,")
            assert "my secret" in await stored(service)
            await confirm(tab, "Ann")
            await expect(tab.dialog.get_by_role("progressbar")).to_be_visible()
            await tab.dialog.get_by_role("button", name="Close").click()
            let_go.set()
            await expect(said(tab, "Data erased: Ann.")).to_be_visible()
            await expect(tab.page.locator("#content")).to_contain_text("Messages and their answers")
            assert "my secret" not in await stored(service)
            [lost] = tab.bad
            assert "net::ERR_FAILED" in lost
            tab.bad.clear()


async def test_an_unfinished_erasure_says_what_is_left(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await writes(service, "my secret")
        service.runtime.should_exit = True
        async with opened(browser, service, f"{START}privacy?person=telegram:7") as tab:
            tab.refused = (502, 503, 504)
            await tab.page.get_by_role("button", name="Erase data…").click()
            await confirm(tab, "Ann")
            heading = tab.dialog.get_by_role("heading")
            await expect(heading).to_have_text("Erasure not finished yet: Ann.", timeout=60_000)
            await expect(tab.dialog).to_contain_text("The agent runtime is busy or not responding.")
            await tab.dialog.get_by_role("button", name="Close").click()
            await expect(tab.page.locator("#content .badge")).to_have_text("In progress")
            await expect(tab.page.locator("#content")).to_contain_text("The service continues automatically")


async def test_who_may_not_erase_is_told_whom_to_ask(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path, extra=TWO_ACCOUNTS) as service:
        await give(service, "tg:30", "member")
        async with opened(browser, service, f"{CONSOLE}#code={await code_for(service)}") as ann:
            ann.refused = (403,)
            await expect(ann.page.locator("#app[data-person='telegram:7']")).to_have_count(1)
            await ann.page.goto(f"{service.url}{START}privacy?person=telegram:30")
            await expect(ann.page.get_by_role("alert")).to_contain_text(
                "Ask an owner, or an admin of every account on this platform."
            )
            await expect(ann.page.get_by_role("button", name="Erase data…")).to_have_count(0)
            await ann.page.goto(f"{service.url}{START}people/tg%3A30")
            await expect(ann.page.locator(".panel").get_by_role("button", name="Revoke")).to_be_visible()
            await expect(ann.page.get_by_role("button", name="Erase data…")).to_have_count(0)
