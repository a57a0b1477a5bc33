"""Check the locked dependencies: known vulnerabilities and licences. `make audit`.

Exit code 1 for a vulnerability that is not accepted below, or a licence that is not allowed. Where the
database of vulnerabilities can't be reached, that is said, and only the licences are checked.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import httpx

ROOT = Path(__file__).parent.parent
MATRIX = "packages/roebot-matrix/requirements.lock"
SHIPPED = ("requirements.lock", "requirements-model.lock", MATRIX)
"""Locks of what a service installs; licences of the others concern nobody who runs it."""
LOCKS = (
    *SHIPPED,
    "requirements-sandbox.lock",
    "requirements-dev.lock",
    "requirements-deploy.lock",
    "packages/roebot-matrix/requirements-synapse.lock",
)
ENVIRONMENTS: Mapping[str, str] = {MATRIX: ".venv-matrix"}
"""Environments, beside ours, that have the packages of a lock, for their licences."""
SOURCE = "https://api.osv.dev"
SOURCE_VARIABLE = "ROEBOT_ADVISORIES"
ASK_SECONDS = 4.0
BATCH = 500
PINNED = re.compile(r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==(?P<version>[^\s;\\]+)", re.M)
ACCEPTED: Mapping[str, str] = {}
"""Advisories that don't concern Roebot, each with the reason."""

ALLOWED = re.compile(
    r"MIT(-0|-CMU)?|0?BSD(-[0-9]-Clause)?|Apache(-2\.0)?|ISC|PSF(-2\.0)?|Python-2\.0|CNRI-Python|MPL-2\.0|Unlicense"
    r"|LGPL-(2\.1|3\.0)(-only|-or-later)?|Zlib|HPND"
)
"""Licences under which Roebot, which is Apache-2.0, can use a package that it does not change."""
STATED: Mapping[str, str] = {
    "agent-client-protocol": "Apache-2.0",
    "httpx-aiohttp": "BSD-3-Clause",
    "matrix-nio": "ISC",
}
"""Licences of packages whose metadata does not name one, as their own LICENSE file states."""
_WORDS = (
    (re.compile(r"\bLGPL|Lesser General Public", re.I), "LGPL-3.0-only"),
    (re.compile(r"\bAGPL|Affero General Public|Affero", re.I), "AGPL-3.0-only"),
    (re.compile(r"\bGPL|General Public", re.I), "GPL-3.0-only"),
    (re.compile(r"Apache", re.I), "Apache-2.0"),
    (re.compile(r"Mozilla|MPL", re.I), "MPL-2.0"),
    (re.compile(r"\bMIT\b", re.I), "MIT"),
    (re.compile(r"BSD-2-Clause|Simplified BSD", re.I), "BSD-2-Clause"),
    (re.compile(r"\bBSD\b", re.I), "BSD-3-Clause"),
    (re.compile(r"\bISC\b|ISCL", re.I), "ISC"),
    (re.compile(r"Python Software Foundation|\bPSF", re.I), "PSF-2.0"),
    (re.compile(r"Unlicense", re.I), "Unlicense"),
)
"""Wordings of licences in metadata, with the SPDX identifier that they stand for."""


@dataclass(frozen=True, order=True, slots=True)
class LockedPackage:
    """A package and its locked version."""

    name: str
    version: str


def read_locks(folder: Path, names: Sequence[str] = LOCKS) -> list[LockedPackage]:
    """Return the packages of the lock files, each version once."""
    texts = [(folder / name).read_text() for name in names]
    return sorted(
        {LockedPackage(one["name"], one["version"]) for text in texts for one in PINNED.finditer(text)}
    )


def find_vulnerabilities(packages: Sequence[LockedPackage], source: str) -> dict[LockedPackage, list[str]]:
    """Return the known advisories by package. Raises httpx.HTTPError if the database does not answer."""
    found: dict[LockedPackage, list[str]] = {}
    with httpx.Client(base_url=source, timeout=ASK_SECONDS) as client:
        for start in range(0, len(packages), BATCH):
            asked = packages[start : start + BATCH]
            queries = [
                {"package": {"name": one.name, "ecosystem": "PyPI"}, "version": one.version} for one in asked
            ]
            answer = client.post("/v1/querybatch", json={"queries": queries}).raise_for_status()
            for package, result in zip(asked, answer.json()["results"], strict=True):
                ids = [one["id"] for one in (result or {}).get("vulns", ()) if one["id"] not in ACCEPTED]
                if ids:
                    found[package] = ids
    return found


def licence_of(package: LockedPackage, folders: Sequence[str]) -> str | None:
    """Return the SPDX expression of a package in these folders ("" if unknown), None if it is not there."""
    if package.name in STATED:
        return STATED[package.name]
    found = next(iter(metadata.Distribution.discover(name=package.name, path=list(folders))), None)
    if found is None:
        return None
    about = found.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    words = [line for line in about.get_all("Classifier", ()) if line.startswith("License ::")]
    words = words or [(about.get("License") or "").split("\n")[0]]
    known = dict.fromkeys(spdx for line in words for spdx in _spdx_of(line))
    return " OR ".join(known)


def _spdx_of(line: str) -> Iterator[str]:
    """Return the identifiers that a classifier or a free text stands for, without those it contains."""
    for pattern, spdx in _WORDS:
        line, count = pattern.subn("", line)
        if count:
            yield spdx


def is_allowed(expression: str) -> bool:
    """Return True if the terms of an SPDX expression can be met: all of AND, one of OR."""
    plain = expression.replace("(", " ").replace(")", " ")
    parts = [part.split(" OR ") for part in re.split(r"\s+AND\s+", plain)]
    return all(any(ALLOWED.fullmatch(one.strip()) for one in choices) for choices in parts)


def installed_in(folder: Path) -> list[str]:
    """Return where packages are installed: in this environment, and in those of ENVIRONMENTS."""
    others = (folder.glob(f"{name}/lib/python*/site-packages") for name in ENVIRONMENTS.values())
    return [*sys.path, *(str(place) for places in others for place in places)]


def check_licences(
    packages: Sequence[LockedPackage], folders: Sequence[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the packages by licence, and a line for each licence that is unknown or not allowed."""
    by_licence: dict[str, list[str]] = defaultdict(list)
    problems = []
    for package in packages:
        licence = licence_of(package, folders)
        if licence is None:
            continue  # for another platform
        by_licence[licence or "unknown"].append(package.name)
        if not is_allowed(licence):
            problems.append(
                f"{package.name} {package.version}: licence {licence or 'unknown'} is not allowed"
            )
    return dict(by_licence), problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the licences and the problems."""
    parser = argparse.ArgumentParser(description="Check locked dependencies: vulnerabilities and licences.")
    parser.add_argument("--folder", type=Path, default=ROOT, help="Folder of the lock files.")
    folder = parser.parse_args(arguments).folder
    licences, problems = check_licences(read_locks(folder, SHIPPED), installed_in(folder))
    for lock, environment in ENVIRONMENTS.items():
        if not (folder / environment).exists():
            print(f"licences not checked: those that only {lock} has ({environment} is not installed)")
    for licence, names in sorted(licences.items()):
        print(f"{licence}: {', '.join(names)}")
    source = os.environ.get(SOURCE_VARIABLE, SOURCE)
    try:
        found = find_vulnerabilities(read_locks(folder), source)
    except (httpx.HTTPError, ValueError, KeyError) as error:
        print(f"vulnerabilities not checked: {source} can't be used here ({type(error).__name__})")
    else:
        problems += [f"{one.name} {one.version}: {', '.join(ids)}" for one, ids in found.items()]
        print(f"vulnerabilities: checked at {source}")
    for problem in problems:
        print(f"FAIL {problem}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
