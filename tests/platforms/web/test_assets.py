"""The console's files: compressed, cached for ever under the address of a build, and loaded side by side."""

from __future__ import annotations

import re
from pathlib import Path

from bot.server.console.assets import HERE, read_build
from bot.server.console.page import SHEETS
from tests.platforms.web.serving import world


async def test_files_of_a_build_are_compressed_and_cached(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        page = (await service.http.get("/")).text
        modules = re.findall(r'rel="modulepreload" href="([^"]+)"', page)
        assert len(modules) > 10
        for path in modules:
            answer = await service.http.get(path)
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.text == (HERE / path.split("/", 3)[3]).read_text()
        lit = await service.http.get("/static/vendor/lit.js")
        assert lit.headers["content-encoding"] == "gzip"
        assert "cache-control" not in lit.headers
        plain = await service.http.get("/static/vendor/lit.js", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers and plain.text == lit.text
        known = {"if-none-match": lit.headers["etag"]}
        assert (await service.http.get("/static/vendor/lit.js", headers=known)).status_code == 304
        assert (await service.http.get("/static/build-x/nothing.js")).status_code == 404
        assert (await service.http.get("/static/build-x/../../page.py")).status_code == 404


def test_the_first_view_names_what_its_modules_import() -> None:
    modules = read_build().modules
    assert {"app/main.js", "app/shell.js", "chat/chat.js", "texts/zh.js", "vendor/lit.js"} <= set(modules)
    for module in modules:
        for found in re.findall(r'^import .*"(\.[^"]+)";', (HERE / module).read_text(), re.MULTILINE):
            assert str((HERE / module).parent.joinpath(found).resolve().relative_to(HERE)) in modules


def test_no_sheet_styles_what_another_one_defines() -> None:
    """All sheets are loaded together, so a class of one page must not have rules in that of another."""
    defined: dict[str, str] = {}
    for sheet in SHEETS:
        rules = (HERE / f"{sheet}.css").read_text()
        for name in set(re.findall(r"^\.([\w-]+)(?: [^{,]*)?[{,]", rules, re.MULTILINE)):
            other = defined.setdefault(name, sheet)
            assert other == sheet or other == "design/base", f"{sheet} and {other} both define .{name}"
