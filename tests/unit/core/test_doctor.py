"""What `roebot doctor` makes of the service's answers."""

from __future__ import annotations

import httpx
import pytest

from bot.cli.doctor import _unready

ACCOUNTS = {"slack": {"ok": False, "detail": "failed"}}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"ready": False, "runtime": {"ok": False, "detail": "It is away."}, "accounts": {}},
            "not ready; runtime: It is away.",
        ),
        (
            {"ready": False, "runtime": {"ok": True, "detail": ""}, "accounts": ACCOUNTS},
            "not ready; see the accounts below",
        ),
        (["?"], '["?"]'),
    ],
)
def test_what_is_not_ready_is_said_in_words(answer: object, words: str) -> None:
    assert _unready(httpx.Response(503, json=answer)) == words
