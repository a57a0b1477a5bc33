"""Routes of the shipped documentation: search, and its pages."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from agent.shared.documentation import DocSection, load_documentation, query_words, translate_title
from agent.shared.text import shorten, to_one_line
from bot.access import Role
from bot.server.api.auth import open_to
from bot.server.api.errors import not_found
from bot.server.api.schemas import ApiModel

EXCERPT = 240
"""Maximum number of characters of a section in a list."""
Language = Annotated[Literal["en", "zh"], Query(description="Language of titles; the text is in English.")]
router = APIRouter(prefix="/api/docs", tags=["documentation"])


class DocumentationHit(ApiModel):
    """A section of the documentation; `page` is as in `#/docs/PAGE`, `heading` is "" at its start."""

    page: str
    title: str
    heading: str
    excerpt: str


class DocumentationHits(ApiModel):
    """Found sections, the best first."""

    hits: list[DocumentationHit]


class DocumentationPage(ApiModel):
    """A page of the documentation; `text` is Markdown."""

    page: str
    title: str
    text: str


@router.get("")
@open_to(Role.MEMBER)
async def search_documentation(
    q: Annotated[str, Query(max_length=200)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    language: Language = "en",
) -> DocumentationHits:
    """Search the documentation in English or Chinese, best matches first. Without words, list the pages."""
    found = await asyncio.to_thread(_search, q, limit)
    return DocumentationHits(hits=[_present(one, language) for one in found])


@router.get("/{page:path}")
@open_to(Role.MEMBER)
async def get_documentation_page(page: str, language: Language = "en") -> DocumentationPage:
    """Return a page as Markdown. Its links lead to `#/docs/PAGE` in the web console."""
    documentation = await asyncio.to_thread(load_documentation)
    if (text := documentation.pages.get(page)) is None:
        raise not_found("page")
    title = next(one.title for one in documentation.sections if one.page == page)
    return DocumentationPage(
        page=page, title=translate_title(page, title, language), text=documentation.link_pages(page, text)
    )


def _search(words: str, limit: int) -> list[DocSection]:
    documentation = load_documentation()
    if words.strip():
        return [hit.section for hit in documentation.search(query_words(words), limit)]
    return list({one.page: one for one in reversed(documentation.sections)}.values())[::-1]


def _present(section: DocSection, language: str) -> DocumentationHit:
    return DocumentationHit(
        page=section.page,
        title=translate_title(section.page, section.title, language),
        heading=section.heading,
        excerpt=shorten(to_one_line(section.text), EXCERPT),
    )
