"""The tests that `make test CHANGED=1` picks."""

from __future__ import annotations

import pytest

from scripts.changed_tests import pick_tests

NAMES = [
    "tests/conformance/test_adapters.py",
    "tests/platforms/slack/test_manifest.py",
    "tests/platforms/telegram/test_quotations.py",
    "tests/unit/scripts/test_changed_tests.py",
]
ALWAYS, SLACK, TELEGRAM, OWN = NAMES


@pytest.mark.parametrize(
    ("change", "picked"),
    [
        ("bot/platforms/slack/adapter.py", [ALWAYS, SLACK]),
        ("tests/platforms/telegram/conftest.py", [ALWAYS, TELEGRAM]),
        ("scripts/changed_tests.py", [ALWAYS, OWN]),
        (OWN, [ALWAYS, OWN]),
        ("docs/README.md", [ALWAYS]),
        ("pyproject.toml", NAMES),
    ],
)
def test_a_change_picks_the_tests_of_its_folder(change: str, picked: list[str]) -> None:
    assert pick_tests(NAMES, [change]) == picked
