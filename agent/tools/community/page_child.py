"""Reading of a foreign HTML page in a process of its own: `python -m agent.tools.community.page_child`.

Its arguments are LIMITS FROM TO: LIMITS is a JSON object of `Bounds`, FROM and TO are inherited file
descriptors. FROM has a line of JSON, then the page's bytes. TO receives a line of JSON for each result, each
better than the one before, so that a process that is killed leaves the best one it had.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from agent.shared.html_charset import decode_html
from agent.uploads.documents.child import Bounds, discard_output

ARTICLE, RESULTS = "article", "results"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A result: `snippet` may be empty."""

    title: str
    url: str
    snippet: str


def main(arguments: Sequence[str]) -> int:
    """Read the page, write the results, and return 0."""
    limits, source, target = arguments
    bounds = Bounds(**json.loads(limits))
    discard_output()
    bounds.apply()
    with os.fdopen(int(source), "rb") as file, os.fdopen(int(target), "wb") as output:
        request = json.loads(file.readline())
        page = decode_html(file.read(), request["charset"])
        # Parsers raise anything on hostile input; the results so far remain.
        with suppress(Exception):
            for result in read_page(request, page):
                output.write(json.dumps(result).encode() + b"\n")
                output.flush()
    return 0


def read_page(request: Mapping[str, Any], page: str) -> Iterator[Any]:
    """Yield results of the request's `task`, the last of which is complete."""
    if request["task"] == RESULTS:
        from agent.tools.community.duckduckgo_page import parse_results

        results = parse_results(page)
        yield None if results is None else [asdict(one) for one in results]
        return
    from agent.tools.community.plain_page import strip_tags

    yield {"title": "", "text": strip_tags(page), "is_complete": False}
    from agent.tools.community.readable import extract_steps

    yield from map(asdict, extract_steps(page, request["url"]))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
