"""The check of the dependencies: vulnerabilities where a database answers, and licences."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import orjson
import pytest

from scripts import dependencies
from scripts.dependencies import (
    ROOT,
    SHIPPED,
    LockedPackage,
    check_licences,
    find_vulnerabilities,
    installed_in,
    is_allowed,
    main,
    read_locks,
)

pytestmark = pytest.mark.may_block

LOCK = """# a comment
jinja2==3.1.6 \\
    --hash=sha256:00
orjson[extra]==3.11.4 ; python_version >= "3.11" \\
    --hash=sha256:00
    # via roebot
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in dependencies.LOCKS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(LOCK)
    return tmp_path


@pytest.fixture
def database() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """A database of vulnerabilities: its address, and the advisories by package, which the test fills."""
    known: dict[str, list[str]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = orjson.loads(self.rfile.read(int(self.headers["content-length"])))["queries"]
            results: list[Any] = []
            for query in asked:
                ids = known.get(f"{query['package']['name']} {query['version']}", [])
                results.append({"vulns": [{"id": one} for one in ids]} if ids else {})
            body = orjson.dumps({"results": results})
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", known
        server.shutdown()


def test_locks_are_read_once(folder: Path) -> None:
    assert read_locks(folder) == [LockedPackage("jinja2", "3.1.6"), LockedPackage("orjson", "3.11.4")]


def test_a_known_vulnerability_is_found(
    folder: Path, database: tuple[str, dict[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, known = database
    assert find_vulnerabilities(read_locks(folder), url) == {}
    known["jinja2 3.1.6"] = ["GHSA-1", "GHSA-2"]
    known["orjson 3.0.0"] = ["GHSA-3"]
    assert find_vulnerabilities(read_locks(folder), url) == {
        LockedPackage("jinja2", "3.1.6"): ["GHSA-1", "GHSA-2"]
    }
    monkeypatch.setattr(dependencies, "ACCEPTED", {"GHSA-1": "not used", "GHSA-2": "not used"})
    assert find_vulnerabilities(read_locks(folder), url) == {}


def test_the_exit_code(
    folder: Path,
    database: tuple[str, dict[str, list[str]]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url, known = database
    monkeypatch.setenv(dependencies.SOURCE_VARIABLE, url)
    assert main(["--folder", str(folder)]) == 0
    assert f"vulnerabilities: checked at {url}" in capsys.readouterr().out
    known["jinja2 3.1.6"] = ["GHSA-1"]
    assert main(["--folder", str(folder)]) == 1
    assert "FAIL jinja2 3.1.6: GHSA-1" in capsys.readouterr().out


def test_an_unreachable_database_is_said_and_not_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(dependencies.SOURCE_VARIABLE, "http://127.0.0.1:9")
    assert main(["--folder", str(folder)]) == 0
    assert "vulnerabilities not checked" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("GPL-3.0-only OR MIT", True),
        ("LGPL-3.0-only", True),
        ("GPL-3.0-only", False),
        ("MIT AND AGPL-3.0-only", False),
        ("SSPL-1.0", False),
        ("LicenseRef-Proprietary", False),
        ("", False),
    ],
)
def test_licences_that_are_allowed(expression: str, allowed: bool) -> None:
    assert is_allowed(expression) is allowed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("License :: OSI Approved :: GNU Lesser General Public License v3 (LGPLv3)", ["LGPL-3.0-only"]),
        ("License :: OSI Approved :: GNU Affero General Public License v3", ["AGPL-3.0-only"]),
        ("License :: OSI Approved :: GNU General Public License v3 (GPLv3)", ["GPL-3.0-only"]),
        ("License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)", ["MPL-2.0"]),
        ("MIT License, Apache License, Version 2.0", ["Apache-2.0", "MIT"]),
        ("License :: Other/Proprietary License", []),
    ],
)
def test_wordings_of_licences(line: str, expected: list[str]) -> None:
    assert list(dict.fromkeys(dependencies._spdx_of(line))) == expected


def test_everything_that_is_installed_has_an_allowed_licence() -> None:
    licences, problems = check_licences(read_locks(ROOT, SHIPPED), installed_in(ROOT))
    assert problems == []
    assert sum(map(len, licences.values())) > 50


def test_a_platform_in_a_package_is_checked_in_its_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(dependencies.SOURCE_VARIABLE, "http://127.0.0.1:9")
    lock = folder / dependencies.MATRIX
    lock.write_text(f"{LOCK}only-for-matrix==1.0 \\\n    --hash=sha256:00\n")
    assert LockedPackage("only-for-matrix", "1.0") in read_locks(folder)
    assert main(["--folder", str(folder)]) == 0
    assert ".venv-matrix is not installed" in capsys.readouterr().out
    about = folder / ".venv-matrix/lib/python3.11/site-packages/only_for_matrix-1.0.dist-info/METADATA"
    about.parent.mkdir(parents=True)
    about.write_text(
        "Metadata-Version: 2.4\nName: only-for-matrix\nVersion: 1.0\nLicense-Expression: SSPL-1.0\n"
    )
    assert main(["--folder", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert "FAIL only-for-matrix 1.0: licence SSPL-1.0 is not allowed" in shown
    assert "not installed" not in shown
