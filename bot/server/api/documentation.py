"""Routes of the shipped documentation: search, and its pages."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from agent.shared.documentation import DocSection, load_documentation, query_words, translate_title
from agent.shared.text import shorten, to_one_line
from bot.access import Role
from bot.server.api import schemas
from bot.server.api.auth import open_to
from bot.server.api.errors import not_found

EXCERPT = 240
"""Maximum number of characters of a section in a list."""
Language = Annotated[Literal["en", "zh"], Query(description="Language of titles; the texts are in English.")]
router = APIRouter(prefix="/api/docs", tags=["documentation"])


@router.get("")
@open_to(Role.MEMBER)
async def search_documentation(
    q: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    language: Language = "en",
) -> schemas.DocumentationHits:
    """Search in English or Chinese, the best sections first. Without words, list the pages."""
    found = await asyncio.to_thread(_search, q, limit)
    return schemas.DocumentationHits(hits=[_present(one, language) for one in found])


@router.get("/{page:path}")
@open_to(Role.MEMBER)
async def get_documentation_page(page: str, language: Language = "en") -> schemas.DocumentationPage:
    """Get a page as Markdown. Its links lead to `#/docs/PAGE` of the web console."""
    documentation = await asyncio.to_thread(load_documentation)
    if (text := documentation.pages.get(page)) is None:
        raise not_found("page")
    title = next(one.title for one in documentation.sections if one.page == page)
    return schemas.DocumentationPage(
        page=page, title=translate_title(page, title, language), text=documentation.link_pages(page, text)
    )


def _search(words: str, limit: int) -> list[DocSection]:
    documentation = load_documentation()
    if words.strip():
        return [hit.section for hit in documentation.search(query_words(words), limit)]
    return list({one.page: one for one in reversed(documentation.sections)}.values())[::-1]


def _present(section: DocSection, language: str) -> schemas.DocumentationHit:
    return schemas.DocumentationHit(
        page=section.page,
        title=translate_title(section.page, section.title, language),
        heading=section.heading,
        excerpt=shorten(to_one_line(section.text), EXCERPT),
    )
