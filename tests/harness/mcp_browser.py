"""A likeness of Playwright's MCP server: pages as screenshots, snapshots in YAML, long logs, a file.

`python -m tests.harness.mcp_browser stdio|http [port]`. Results have the sections and images that
microsoft/playwright, packages/playwright/src/mcp/browser/response.ts (`Response.serialize`) and
tools/screenshot.ts write: a text with `### Result`, `### Ran Playwright code`, `### Page` and a snapshot, and
images after it. Each session has a page of its own.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.harness.mcp_contents import coded, image, noisy_png, png, text
from tests.harness.mcp_serving import Json, define, make_server, serve

BOOLEAN = {"type": "boolean"}
REQUESTS = 2_000
"""Requests of the page, whose list has more characters than a model gets."""
ELEMENT = ("element", "ref")
TOOLS = [
    define("browser_navigate", "url", about="Navigate to a URL"),
    define("browser_navigate_back", about="Go back to the previous page"),
    define("browser_snapshot", about="Capture accessibility snapshot of the current page"),
    define(
        "browser_take_screenshot",
        about="Take a screenshot of the current page.",
        type={"type": "string", "enum": ["png", "jpeg"], "default": "png"},
        fullPage=BOOLEAN,
        **{name: {"type": "string"} for name in ("filename", *ELEMENT)},
    ),
    define("browser_click", *ELEMENT, about="Perform click on a web page", doubleClick=BOOLEAN),
    define("browser_type", *ELEMENT, "text", about="Type text into editable element", submit=BOOLEAN),
    define(
        "browser_fill_form",
        "fields",
        about="Fill multiple form fields",
        fields={"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    ),
    define("browser_evaluate", "function", about="Evaluate JavaScript expression on page"),
    define("browser_console_messages", about="Returns all console messages"),
    define("browser_network_requests", about="Returns all network requests since loading the page"),
    define("browser_pdf_save", about="Save page as PDF"),
    define("browser_wait_for", about="Wait for text or a time", time={"type": "number"}),
    define("browser_handle_dialog", "accept", about="Handle a dialog", accept=BOOLEAN),
    define("browser_tabs", "action", about="List, create, close, or select a browser tab."),
    define("browser_close", about="Close the page"),
]


class Browser:
    """The page, which all sessions of a program share."""

    def __init__(self) -> None:
        self.url = "about:blank"

    def answer(self, name: str, arguments: Json) -> Json:
        """The result of a call."""
        found: Json = getattr(self, name.removeprefix("browser_"))(**arguments)
        return found

    def navigate(self, url: str) -> Json:
        if not url.startswith("http"):
            error = (
                f'Error: page.goto: Protocol error (Page.navigate): Cannot navigate to invalid URL "{url}"'
            )
            return {"content": [text(f"### Error\n{error}")], "isError": True}
        self.url = url
        return self.page(f"await page.goto('{url}');")

    def navigate_back(self) -> Json:
        return self.page("await page.goBack();")

    def snapshot(self) -> Json:
        return self.page()

    def take_screenshot(self, type: str = "png", fullPage: bool = False, **_: Any) -> Json:
        """Take a picture, large like a real one: its pixels are noise."""
        shown = f"### Result\n- [Screenshot of {'full page' if fullPage else 'viewport'}](page.{type})"
        data = noisy_png(640, 400) if not fullPage else png(1280, 9_000)
        return {"content": [text(shown), image(coded(data))]}

    def click(self, element: str, ref: str, doubleClick: bool = False) -> Json:
        return self.page(f"await page.getByRole('button', {{ name: '{element}' }}).click(); // {ref}")

    def type(self, element: str, ref: str, text: str, submit: bool = False) -> Json:
        return self.page(f"await page.getByRole('textbox', {{ name: '{element}' }}).fill('{text}'); // {ref}")

    def fill_form(self, fields: list[Json]) -> Json:
        return self.page("\n".join(f"await page.getByLabel('{one['name']}').fill('');" for one in fields))

    def evaluate(self, function: str) -> Json:
        return {
            "content": [text("### Result\nundefined\n### Ran Playwright code\n```js\n" + function + "\n```")]
        }

    def console_messages(self) -> Json:
        return {"content": [text("### Result\n[WARNING] \U0001f600 \0 \x1b[31mred\x1b[0m @ app.js:1")]}

    def network_requests(self) -> Json:
        lines = [f"[GET] https://shop.example/item/{number} => [200] OK" for number in range(REQUESTS)]
        return {"content": [text("### Result\n" + "\n".join(lines))]}

    def pdf_save(self) -> Json:
        resource = {"uri": "file:///tmp/page.pdf", "mimeType": "application/pdf", "blob": coded(b"%PDF-1.7")}
        return {
            "content": [
                text("### Result\n- [Page as pdf](page.pdf)"),
                {"type": "resource", "resource": resource},
            ]
        }

    def wait_for(self, time: float = 0) -> Json:
        return self.page(f"await new Promise(f => setTimeout(f, {time} * 1000));")

    def handle_dialog(self, accept: bool) -> Json:
        return {"content": [text("### Error\nError: No dialog visible")], "isError": True}

    def tabs(self, action: str) -> Json:
        return {"content": [text(f"### Result\n- 0: (current) [Shop]({self.url})")]}

    def close(self) -> Json:
        self.url = "about:blank"
        return {"content": [text("### Result\nNo open tabs. Navigate to a URL to create one.")]}

    def page(self, code: str = "") -> Json:
        """The page after some code."""
        ran = f"### Ran Playwright code\n```js\n{code}\n```\n" if code else ""
        snapshot = '- button "Buy" [ref=e3] [cursor=pointer]\n- textbox "Name" [ref=e4]'
        where = f"### Page\n- Page URL: {self.url}\n- Page Title: Shop"
        return {"content": [text(f"{ran}{where}\n### Snapshot\n```yaml\n{snapshot}\n```")]}


if __name__ == "__main__":
    serve(make_server("browser", TOOLS, Browser().answer), sys.argv[1:])
