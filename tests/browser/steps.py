"""The steps that a person takes in the web console: each click, each field filled in, each choice."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.async_api import Locator, Page


@dataclass
class Steps:
    """Counts what is done in a tab."""

    page: Page
    count: int = 0

    async def opens(self, name: str) -> None:
        """Open a page by its link in the sidebar."""
        await self.clicks(self.page.get_by_role("complementary").get_by_role("link", name=name, exact=True))

    async def clicks(self, target: Locator) -> None:
        """Click an element."""
        self.count += 1
        await target.click()

    async def fills(self, field: Locator, text: str) -> None:
        """Fill in a field."""
        self.count += 1
        await field.fill(text)
