"""What opens within the pages of the console (dialogs, menus, forms, details), and how to open each.

An opening is an address and the steps that follow it. A step is the CSS selector of what to press, where
`@pencil` stands for a control with that icon. Before it may stand `?` (press it if it is shown) or `each`
(each element or option of a select: the rest is done for every one). Other steps: `SELECTOR = TEXT` types
or chooses, `key KEY` presses a key, `file SELECTOR` attaches a file, and `fill SELECTOR` types a long text
into every empty field of an element.
"""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from playwright.async_api import Locator, Page

from tests.unit.agent.skills.skill_archives import archive, text

LONG: Final = "Wolfeschlegelsteinhausenbergerdorff-Featherstonehaugh-Alexander"
NOBODY: Final = "http://127.0.0.1:9/"
MORE, COMBOBOX = ".panel-head @ellipsis", "[role=combobox]"
SERVER: Final = f"{sys.executable} -m tests.harness.mcp_server stdio"
OPENINGS: Final[tuple[tuple[str, ...], ...]] = (
    ("/?c=2100", "#model"),
    ("/?c=2102", ".head @ellipsis"),
    ("/?c=2102", ".head @ellipsis", ".item@pencil"),
    ("/?c=2102", ".head @ellipsis", ".item@trash-2"),
    ("/?c=2102", "?.open-side"),
    ("/?c=2102", "?.open-side", "[aria-current] + @ellipsis"),
    ("/?c=2102", "?.open-side", "[aria-current] + @ellipsis", ".item@pencil"),
    ("/?c=2102", ".turn.last @info"),
    ("/?c=2102", ".turn.last @pencil"),
    ("/?c=2000", ".work-steps summary"),
    ("/?c=2102", "#commands"),
    ("/?c=2102", "#text = /model "),
    ("/?c=2102", "file #file"),
    ("/?c=2102", "#suggest"),
    ("/?c=2005",),
    ("/?c=2100",),
    ("/?c=2101",),
    ("/?c=2102",),
    ("/?c=2103", "?.answer details summary"),
    ("#/overview", "?.open-side", "#account"),
    ("#/overview", "?.open-side", "?.nav-group:not([open]) > summary"),
    ("#/overview", "key ?"),
    ("#/overview", "key Control+k"),
    ("#/overview", "key Control+k", ".palette input = wolfe"),
    ("#/overview", "key Control+k", ".palette input = zzzz"),
    ("#/overview", ".thing @ellipsis"),
    ("#/turns", COMBOBOX),
    ("#/turns/10000", ".tool-steps summary"),
    ("#/turns/20102", MORE),
    ("#/turns/20102", ".panel-head @rotate-ccw"),
    ("#/turns/20102", ".span summary"),
    ("#/conversations/2101", MORE),
    ("#/conversations/2101", MORE, ".item@rotate-ccw"),
    ("#/conversations/2101", ".about summary"),
    ("#/conversations?account=telegram",),
    ("#/schedules", ".head @plus"),
    ("#/schedules", ".head @plus", f"dialog {COMBOBOX} >> nth=0"),
    ("#/schedules", ".head @plus", "#when = every 7 minutes"),
    ("#/schedules/1", ".panel @pencil"),
    ("#/schedules/1", MORE),
    ("#/schedules/1", MORE, ".item@play"),
    ("#/schedules/1", MORE, ".item@trash-2"),
    ("#/schedules/calendar", "?.cal-day summary"),
    ("#/schedules/calendar", ".cal-head a[href*=week]"),
    ("#/people", ".head @user-plus"),
    ("#/people", ".head @user-plus", f"dialog {COMBOBOX} = wolfe"),
    ("#/people", ".head @user-plus", f"dialog {COMBOBOX} = عبد", "dialog .item"),
    ("#/people", ".head @ellipsis", ".item@hash"),
    ("#/people", ".thing @ellipsis"),
    ("#/people", ".thing .tiny:not(.primary, .icon)"),
    ("#/people", ".more"),
    ("#/people", ".role"),
    ("#/people?show=all",),
    ("#/people/telegram:1000000000", MORE),
    ("#/people/telegram:1000000000", ".panel @shield"),
    ("#/people/telegram:1000000000", ".panel .tiny:not(.danger)"),
    ("#/people/telegram:1000000000", ".panel .tiny.danger"),
    ("#/people/telegram:1000000000", ".panel @trash-2"),
    ("#/people/slack:1000007919",),
    ("#/people/discord:1000015838",),
    ("#/people/feishu:1000023757",),
    ("#/memory", ".head @plus"),
    ("#/memory", ".head @ellipsis"),
    ("#/memory", ".head @ellipsis", ".item@trash-2"),
    ("#/memory", ".thing @pencil"),
    ("#/memory", ".thing @trash-2"),
    ("#/memory", COMBOBOX),
    ("#/privacy", ".button.danger"),
    ("#/privacy", COMBOBOX),
    ("#/accounts", ".entry:has-text('telegram') @ellipsis"),
    ("#/accounts", ".entry:has-text('telegram') @ellipsis", ".item@rotate-ccw"),
    ("#/accounts", ".entry:has-text('telegram') @ellipsis", ".item@key-round"),
    ("#/accounts", ".entry:has-text('telegram') @ellipsis", ".item@pause"),
    ("#/accounts", ".entry:has-text('telegram') @ellipsis", ".item@trash-2"),
    ("#/accounts/connect",),
    ("#/accounts/connect", "each .tiles a", "?.step details summary"),
    ("#/accounts/connect", "each .tiles a", ".text-button", "fill roe-form", "roe-form .primary"),
    ("#/models", ".entry @play"),
    ("#/models", ".entry:nth-child(2) @ellipsis"),
    ("#/models", ".entry:nth-child(2) @ellipsis", ".item@star"),
    ("#/models", ".entry:nth-child(2) @ellipsis", ".item@key-round"),
    ("#/models", ".entry:nth-child(2) @ellipsis", ".item@trash-2"),
    ("#/models/key/",),
    ("#/models/connect", "each select[name=provider]"),
    ("#/models/connect", "each select[name=provider]", "roe-form .primary"),
    ("#/agents", "#new-agent"),
    ("#/agents", "#new-agent", "roe-form .primary"),
    ("#/agents", ".entry @pencil"),
    ("#/agents", ".entry @ellipsis"),
    ("#/agents", ".entry @ellipsis", ".item@trash-2"),
    ("#/skills", "#install"),
    ("#/skills", "#install", "file dialog [type=file]", "roe-form .primary", "dialog.wide h2"),
    ("#/skills", ".entry @ellipsis"),
    ("#/skills", ".entry @ellipsis", ".item@history"),
    ("#/skills", ".entry @ellipsis", ".item@trash-2"),
    ("#/mcp", ".entry @ellipsis"),
    ("#/mcp", ".entry @ellipsis", ".item@pencil"),
    ("#/mcp", ".entry @ellipsis", ".item@trash-2"),
    ("#/mcp/add", "each select[name=kind]", "roe-form .primary"),
    ("#/mcp/add", "[name=name] = more", "fill roe-form", "roe-form .primary", "#found"),
    (
        "#/mcp/add",
        "[name=kind] = command",
        "[name=name] = more",
        f"[name=command] = {SERVER}",
        "roe-form .primary",
        "#found",
    ),
    ("#/settings", "roe-entries input >> nth=0 = telegram:1000000000", "key Enter", "roe-form .primary"),
    ("#/settings?account=telegram",),
    ("#/settings/limits", "roe-form input >> nth=0 = 100", "roe-form .primary"),
    ("#/settings/events/alerts", ".card @ellipsis"),
    ("#/settings/events/alerts", ".card @ellipsis", ".item@trash-2"),
    ("#/settings/events/add", "each select[name=type]"),
    ("#/settings/events/add", "roe-form .primary"),
    ("#/settings/versions", ".entry summary"),
    ("#/settings/versions", "@undo-2"),
    ("#/usage", "each .tabs a"),
    ("#/usage", COMBOBOX),
    ("#/usage", ".figures-card summary"),
    ("#/audit", ".thing @ellipsis"),
    ("#/audit", COMBOBOX),
    ("#/docs", "[type=search] = slack"),
)
ASKS: Final = """(() => {
  const ask = window.fetch;
  window.asked = 0;
  window.fetch = async (...request) => {
    window.asked += 1;
    try {
      const answer = await ask(...request);
      if (answer.headers.get("content-type")?.includes("json")) await answer.clone().arrayBuffer();
      return answer;
    } finally {
      // The page first does what it asked for.
      requestAnimationFrame(() => requestAnimationFrame(() => (window.asked -= 1)));
    }
  };
})()"""
"""Counts requests without an answer: what opens after one is not there yet. Runs before the page."""
WAITS: Final = """() => {
  if (window.asked || document.querySelector("roe-chat:not(:has(.column, .welcome))")) return false;
  const loads = ".page .empty[role=status]:not(.problem), .column .loading, dialog [aria-busy=true]";
  const busy = `${loads}, button use[href$='#loader-circle']`;
  const endless = (one) => one.effect.getTiming().iterations === Infinity;
  const moves = document.getAnimations().some((one) => one.playState === "running" && !endless(one));
  const top = [...document.querySelectorAll("dialog[open]")].at(-1) || document;
  return !moves && !top.querySelector(busy) && document.querySelector("#content > *");
}"""
"""True once the page has loaded and nothing moves."""


def selector(step: str) -> str:
    """Return the CSS selector of a step."""
    return re.sub(r"@([a-z0-9-]+)", r":is(button, a):has(use[href$='#\1'])", step)


async def settle(page: Page) -> None:
    """Wait until a page or dialog has loaded."""
    await page.wait_for_function(WAITS)


async def show(page: Page, address: str) -> None:
    """Open a page of the console anew within the loaded one."""
    await page.keyboard.press("Escape")
    for one in ("#/nowhere", address):
        await page.evaluate(
            "one => (history.pushState(null, '', one.replace('#', '/#')), dispatchEvent(new Event('route')))",
            one,
        )
        await settle(page)


async def opened(page: Page, opening: tuple[str, ...], folder: Path) -> AsyncIterator[str]:
    """Open what an opening shows, once for each choice, and yield its name. Files are made in the folder."""
    address, *steps = opening
    count, number = 1, 0
    while number < count:
        await show(page, address)
        name = " ".join(opening)
        for step in steps:
            if not step.startswith("each "):
                await _do(page, step, folder)
            else:
                found = await _choices(page, step.removeprefix("each "))
                count = len(found)
                name += f" · {await found[number].inner_text() or number}"
                await _choose(found[number])
            await settle(page)
        yield name
        number += 1


async def _choices(page: Page, step: str) -> list[Locator]:
    found = page.locator(selector(step))
    await found.first.wait_for()
    if await found.first.evaluate("one => one.tagName === 'SELECT'"):
        found = found.first.locator("option")
    return await found.all()


async def _choose(one: Locator) -> None:
    if await one.evaluate("one => one.tagName === 'OPTION'"):
        await one.locator("..").select_option(await one.get_attribute("value"))
    else:
        await one.click()


async def _do(page: Page, step: str, folder: Path) -> None:
    """Take a step."""
    kind, _, rest = step.partition(" ")
    where, _, typed = step.partition(" = ")
    if kind == "key":
        await page.keyboard.press(rest)
    elif kind == "file":
        made = archive(
            folder / f"{LONG}.skill", {"x/SKILL.md": text("mine", description=LONG), "x/run.sh": "true"}
        )
        await page.locator(rest).first.set_input_files(made)
    elif kind == "fill":
        await _fill(page.locator(rest))
    elif typed:
        field = page.locator(selector(where)).first
        if await field.evaluate("one => one.tagName === 'SELECT'"):
            await field.select_option(typed)
        else:
            await field.fill(typed)
    else:
        pressed = page.locator(selector(step.removeprefix("?"))).first
        if not step.startswith("?") or await pressed.is_visible():
            await pressed.click()


async def _fill(form: Locator) -> None:
    """Type into all fields of a form; a field may appear once the one before is filled."""
    for _ in range(9):
        for field in await form.locator(
            "input:visible:not([type=checkbox], [type=file]), textarea:visible"
        ).all():
            if not await field.input_value():
                address = await field.get_attribute("type") == "url"
                await field.fill(NOBODY if address else LONG)
                break
        else:
            return
