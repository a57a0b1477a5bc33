"""Failures as people are shown them."""

from __future__ import annotations

import pytest

from bot.dispatch.run.outcome import MAX_ERROR_CHARACTERS, public_message


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("No such file: '/home/bot/.roebot/agent.db'", "No such file: '…/agent.db'"),
        ("/usr/lib/python3/os.py, line 3: bad", "…/os.py, line 3: bad"),
        ("see https://docs.example/a/b and /mnt/user-data/outputs/a.txt", None),
        ("1/2 of a/b and and/or", None),
        ("(/opt/app/x) [/opt/app/y]", "(…/x) […/y]"),
        ("the key is SECRET", "the key is ***"),
    ],
)
def test_paths_and_secrets_are_left_out(message: str, shown: str | None) -> None:
    assert public_message(message, lambda text: text.replace("SECRET", "***")) == (shown or message)


def test_what_is_long_is_cut_after_it_was_masked() -> None:
    text = "x" * (MAX_ERROR_CHARACTERS - 3) + "SECRET"
    assert (
        public_message(text, lambda found: found.replace("SECRET", "***"))
        == "x" * (MAX_ERROR_CHARACTERS - 3) + "***"
    )
