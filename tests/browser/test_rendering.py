"""Messages in the console: each sample is right as a whole, when streamed, and in any pieces."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.axe import serious
from tests.browser.rendered import EXPECTED
from tests.browser.tab import PHONE, Tab, opened
from tests.platforms.web.serving import World, world

pytestmark = [pytest.mark.browser, pytest.mark.may_block]

HERE = Path(__file__).parent
SAMPLES = {path.stem: path.read_bytes().decode() for path in sorted((HERE / "samples").glob("*.md"))}
TOKEN = 4
"""Characters of a token."""
INERT = {
    "script, style, iframe, object, embed, form, base, meta, link, svg:not(.katex svg)": 0,
    "[onclick], [onerror], [onload], [ontoggle], [style]:not(.katex *)": 0,
    "img:not(.drawing img), input:not([type=checkbox])": 0,
    "[id]:not(li)": 0,
}
"""Nothing in a message acts, loads or is styled, whatever the sample."""
CLIPPED = """[...document.querySelectorAll("figure")]
  .filter((one) => one.scrollHeight > one.clientHeight + 1)
  .map((one) => `clipped: ${one.textContent.slice(0, 60)}`)"""
"""Code and diagrams that are cut instead of scrolled."""


@asynccontextmanager
async def rendering(browser: Browser, service: World, samples: dict[str, str]) -> AsyncIterator[Tab]:
    """A page of the console with the view under test. It may only talk to the service."""
    async with opened(browser, service, "/", viewport={"width": 1000, "height": 900}) as tab:
        asked: list[str] = []
        tab.page.on("request", lambda request: asked.append(request.url))
        tab.page.on("dialog", lambda dialog: tab.bad.append(dialog.message))
        await prepare(tab.page, samples)
        yield tab
        assert not tab.bad, "\n".join(tab.bad)
        foreign = [url for url in asked if not url.startswith((service.url, f"blob:{service.url}", "data:"))]
        assert foreign == []
        assert await tab.page.evaluate("window.hacked") is None


async def prepare(page: Page, samples: dict[str, str]) -> None:
    script = (HERE / "rendering.js").read_text().partition("\n\n")[2].rstrip().removesuffix(";")
    await page.evaluate(script, {"samples": samples})


async def idle(page: Page, *keys: str) -> None:
    await page.wait_for_function(
        "keys => keys.every(rendering.isIdle)", arg=list(keys), timeout=60_000, polling=100
    )


def differences(name: str, found: dict[str, list[str]], wanted: dict[str, Any]) -> list[str]:
    out = []
    for selector, value in wanted.items():
        have: Any = found[selector]
        if isinstance(value, int):
            have = len(have)
        elif isinstance(value, str):
            have = have[0] if have else None
        if have != value:
            out.append(f"{name} {selector}: {have!r}, not {value!r}")
    return out


async def check(page: Page, kind: str) -> list[str]:
    problems = []
    for name in SAMPLES:
        wanted = {**INERT, **EXPECTED[name]}
        found = await page.evaluate(
            "([key, selectors]) => rendering.find(key, selectors)", [f"{kind}-{name}", list(wanted)]
        )
        problems += differences(f"{kind} {name}", found, wanted)
    return problems


def test_each_sample_has_an_expectation() -> None:
    assert set(SAMPLES) == set(EXPECTED)
    assert len(SAMPLES) >= 60


async def test_samples_are_right_streamed_and_after_a_reload(browser: Browser, tmp_path: Path) -> None:
    names = list(SAMPLES)
    async with world(tmp_path) as service, rendering(browser, service, SAMPLES) as tab:
        page = tab.page
        # 100 tokens a second each, all at the same time.
        await page.evaluate(
            f"names => Promise.all(names.map((name) => rendering.stream(name, {TOKEN}, 10)))", names
        )
        await idle(page, *(f"streamed-{name}" for name in names))
        problems = await check(page, "streamed")
        streamed = [await page.evaluate("rendering.html", f"streamed-{name}") for name in names]
        await page.reload()
        await prepare(page, SAMPLES)
        await page.evaluate("names => names.forEach(rendering.whole)", names)
        await idle(page, *(f"whole-{name}" for name in names))
        problems += await check(page, "whole")
        problems += await page.evaluate(CLIPPED)
        whole = [await page.evaluate("rendering.html", f"whole-{name}") for name in names]
        problems += [name for name, one, other in zip(names, streamed, whole, strict=True) if one != other]
        assert not problems, "\n".join(problems)


async def test_pieces_of_any_size_give_the_same_message(browser: Browser, tmp_path: Path) -> None:
    async with world(tmp_path) as service, rendering(browser, service, SAMPLES) as tab:
        differing = await tab.page.evaluate(PIECES, [name for name in SAMPLES if "mermaid" not in name])
        assert differing == []


PIECES = """async (names) => {
  const differing = [];
  const idle = async (key) => {
    while (!rendering.isIdle(key)) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  for (const name of names) {
    rendering.whole(name);
    await idle(`whole-${name}`);
    const whole = rendering.html(`whole-${name}`);
    for (let seed = 1; seed <= 8; seed += 1) {
      const kind = `split${seed}`;
      rendering.split(name, kind, 1 + seed * 2, seed * 7919 + name.length);
      await idle(`${kind}-${name}`);
      if (rendering.html(`${kind}-${name}`) !== whole) differing.push(`${name} ${seed}`);
      rendering.drop(`${kind}-${name}`);
    }
    rendering.drop(`whole-${name}`);
  }
  return differing;
}"""


async def test_growth_leaves_what_is_settled_alone(browser: Browser, tmp_path: Path) -> None:
    """A selection, an opened block, wrapped code and a scroll position survive; changes come at most every
    40 ms.
    """
    head = "Chosen text.\n\n<details><summary>More</summary>\n\nhidden\n\n</details>\n\n```py\nx = 1\n```\n\n"
    samples = {"head": head, "growing": head + "word " * 200}
    async with world(tmp_path) as service, rendering(browser, service, samples) as tab:
        page = tab.page
        gaps = await page.evaluate(GROWTH)
        assert len(gaps) > 10
        assert min(gaps) > 25
        box = page.locator(".markdown")
        await expect(box.locator("details p")).to_be_visible()
        await expect(box.locator(".code")).to_have_class(re.compile("wrapped"))
        assert await page.evaluate("String(getSelection())") == "Chosen text."
        assert await page.evaluate("window.first === document.querySelector('.markdown p')")


GROWTH = """async () => {
  const view = rendering.create("head", "growth");
  const { box } = rendering.views["growth-head"];
  view.update(rendering.samples.head, { growing: true });
  view.flush();
  window.first = box.querySelector("p");
  getSelection().selectAllChildren(first);
  box.querySelector("summary").click();
  box.querySelector("[data-act=wrap]").click();
  while (!box.querySelector(".hljs-number")) await new Promise((resolve) => setTimeout(resolve, 5));
  const changes = [];
  new MutationObserver(() => changes.push(performance.now())).observe(box, {
    childList: true, subtree: true, characterData: true,
  });
  const source = rendering.samples.growing;
  for (let at = rendering.samples.head.length; at < source.length; at += 8) {
    view.update(source.slice(0, at), { growing: true });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  const seen = changes.slice();
  view.update(source);
  return seen.slice(1).map((time, index) => time - seen[index]);
}"""


async def test_copy_returns_the_exact_source_of_a_code_block(browser: Browser, tmp_path: Path) -> None:
    code = "def f():\n\treturn '<b>&amp;  '\n\n\n# 中文 \\x"
    samples = {"code": f"- item\n\n  ```python\n  {code.replace(chr(10), chr(10) + '  ')}\n  ```\n"}
    async with world(tmp_path) as service, rendering(browser, service, samples) as tab:
        await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await tab.page.evaluate("rendering.whole", "code")
        await idle(tab.page, "whole-code")
        await tab.page.get_by_role("button", name="Copy").click()
        await expect(tab.page.get_by_role("button", name="Copied")).to_be_visible()
        assert await tab.page.evaluate("navigator.clipboard.readText()") == code


async def test_the_frame_for_diagrams_reaches_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.get("/diagram")
        rules = dict(
            rule.strip().partition(" ")[::2] for rule in answer.headers["content-security-policy"].split(";")
        )
        assert rules["default-src"] == "'none'"
        assert rules["frame-ancestors"] == "'self'"
        nonce = re.fullmatch("'self' 'nonce-([\\w-]{20,})'", rules["script-src"])
        assert nonce and f'nonce="{nonce[1]}"' in answer.text
        assert set(rules) & {"connect-src", "img-src", "font-src", "frame-src", "worker-src"} == set()
        assert rules["sandbox"] == "allow-scripts"
        page = await service.http.get("/")
        assert "frame-src 'self'; " in page.headers["content-security-policy"]
        assert (await service.http.get("/diagram", headers={"authorization": ""})).status_code == 401


async def test_samples_fit_a_phone_and_are_accessible(browser: Browser, tmp_path: Path) -> None:
    names = [name for name in SAMPLES if "mermaid" not in name and name != "hostile-pathological"]
    async with world(tmp_path) as service, rendering(browser, service, SAMPLES) as tab:
        await tab.page.set_viewport_size(PHONE)
        await tab.page.evaluate("names => names.forEach(rendering.whole)", names)
        await idle(tab.page, *(f"whole-{name}" for name in names))
        assert await tab.fits()
        assert await serious(tab.page) == []


async def test_footnotes_diagrams_and_wide_tables_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    names = ("gfm-footnotes", "mermaid-sequence", "gfm-table-wide")
    samples = {name: SAMPLES[name] for name in names}
    async with world(tmp_path) as service, rendering(browser, service, samples) as tab:
        page = tab.page
        await page.evaluate("names => names.forEach(rendering.whole)", list(names))
        await idle(page, *(f"whole-{name}" for name in names))
        reference = page.get_by_role("button", name="Footnote 2")
        await reference.press("Enter")
        await expect(page.locator("#whole-gfm-footnotes-note-2")).to_be_focused()
        await page.locator("#whole-gfm-footnotes-note-2").get_by_role("button", name="Back").press("Enter")
        await expect(reference).to_be_focused()
        await page.get_by_role("button", name="Show source").press("Enter")
        await expect(page.locator(".diagram pre")).to_be_visible()
        table = page.locator(".table")
        await table.focus()
        await page.keyboard.press("ArrowRight")
        await page.wait_for_function("() => document.querySelector('.table').scrollLeft > 0")
        wide = (
            "[...document.querySelectorAll('td')].every((cell) => cell.scrollWidth <= cell.clientWidth + 1)"
        )
        assert await page.evaluate(wide), "no cell is cut"
        assert await tab.fits()
