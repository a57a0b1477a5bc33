"""Reading of foreign HTML pages in a child process with a time limit, since parsers can hold the interpreter
for seconds on a small page.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any, BinaryIO

import structlog

from agent.errors import WebFailed
from agent.sandbox.options import MEGABYTE
from agent.tools.community.page_child import ARTICLE, RESULTS, SearchResult
from agent.uploads.documents.child import Bounds
from agent.uploads.documents.limited_child import ChildRoom, is_too_slow, run_child

log = structlog.get_logger(__name__)
MODULE = "agent.tools.community.page_child"
MAX_PARALLEL = 2
CPU_SECONDS = 5.0
SECONDS = 15.0
"""Limit by the clock, for a busy machine."""
WAITING_SECONDS = 30.0
_BOUNDS = Bounds(
    seconds=CPU_SECONDS, soft_seconds=CPU_SECONDS, memory=1_000 * MEGABYTE, markdown=64 * MEGABYTE
)
BUSY = "too many pages are being read right now; try again later"
NOT_READ = "the page takes too long to read"
PLAIN = "[The article could not be extracted in time, so this is the plain text of the page.]"
_room = ChildRoom(MAX_PARALLEL)

# The child imports these. A missing package is reported when a tool is created, by its name.
for _package in ("html_to_markdown", "lxml", "trafilatura"):
    if find_spec(_package) is None:
        raise ModuleNotFoundError(f"No module named {_package!r}", name=_package)


async def read_article(page: bytes, url: str, charset: str | None, seconds: float = SECONDS) -> str:
    """Return a page's article as Markdown with its title, or its plain text after `CPU_SECONDS`.

    "" if it has no text. Raises WebFailed.
    """
    found = await _read({"task": ARTICLE, "url": url, "charset": charset}, page, seconds)
    text = add_title(found["title"], found["text"])
    return text if found["is_complete"] or not text else f"{PLAIN}\n\n{text}"


async def read_results(page: str) -> list[SearchResult] | None:
    """Return DuckDuckGo's results, or None if the page is not a list of them. Raises WebFailed."""
    found = await _read({"task": RESULTS, "charset": "utf-8"}, page.encode("utf-8", "replace"), SECONDS)
    return None if found is None else [SearchResult(**one) for one in found]


def add_title(title: str, text: str) -> str:
    """Return the text with its title as a heading."""
    if not title or not text.strip() or text.lstrip().startswith(f"# {title}"):
        return text
    return f"# {title}\n\n{text}"


async def _read(request: Mapping[str, Any], page: bytes, seconds: float) -> Any:
    """Return the last result that the child wrote. Raises WebFailed if there is none."""
    source, target = await asyncio.to_thread(_open_files, request, page)
    try:
        async with _room.enter(WAITING_SECONDS):
            descriptors = (source.fileno(), target.fileno())
            result = await run_child(MODULE, [json.dumps(asdict(_BOUNDS))], descriptors, seconds)
        lines = await asyncio.to_thread(_read_lines, target)
    except TimeoutError:
        raise WebFailed(BUSY) from None
    except OSError as error:
        log.warning("page_not_read", problem=type(error).__name__)
        raise WebFailed("the page reader can't be started") from None
    finally:
        source.close()
        target.close()
    if result.exit_code:
        log.warning("page_not_read", exit_code=result.exit_code, too_slow=is_too_slow(result))
    if not lines:
        raise WebFailed(NOT_READ if is_too_slow(result) else "the page can't be read")
    return json.loads(lines[-1])


def _open_files(request: Mapping[str, Any], page: bytes) -> tuple[BinaryIO, BinaryIO]:
    source, target = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 - the caller closes them
    source.write(json.dumps(request).encode() + b"\n" + page)
    source.seek(0)
    return source, target


def _read_lines(target: BinaryIO) -> list[bytes]:
    """Return the complete lines; the process may have been killed within the last one."""
    target.seek(0)
    return target.read().split(b"\n")[:-1]
