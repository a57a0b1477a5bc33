"""What a terminal shows of replies that grow."""

from __future__ import annotations

import io

from bot.cli.chat.client import Update
from bot.cli.chat.terminal import PROMPT, Screen


def shown(*updates: Update, colors: bool = False) -> str:
    out = io.StringIO()
    screen = Screen(out, colors)
    for update in updates:
        screen.show(update)
    return out.getvalue()


def test_a_reply_grows_by_what_is_new() -> None:
    out = shown(
        Update(1, "accepted", ""),
        Update(1, "running", "Hel"),
        Update(1, "running", "Hello"),
        Update(1, "running", "Hello"),
        Update(1, "delivering", "Hello you"),
        Update(1, "done", "Hello you"),
    )
    assert out == f"Hello you\n\n{PROMPT}"


def test_a_shorter_text_takes_nothing_back() -> None:
    assert shown(Update(1, "running", "Hello  x"), Update(1, "running", "Hello")) == "Hello  x"


def test_another_text_is_printed_whole() -> None:
    out = shown(Update(1, "running", "Hello"), Update(1, "done", "Bye"))
    assert out == f"Hello\n\nBye\n\n{PROMPT}"


def test_files_and_endings_are_told() -> None:
    out = shown(Update(1, "cancelled", "Some", ("/x/a.txt",)))
    assert out == f"Some\n/x/a.txt\n\n{PROMPT}", "the text says itself how it ended"
    assert "\x1b[2m(failed)\n\x1b[0m" in shown(Update(1, "failed", ""), colors=True)


def test_one_reply_is_shown_at_a_time() -> None:
    out = shown(
        Update(1, "running", "first"),
        Update(3, "running", "third"),
        Update(2, "done", "second"),
        Update(3, "done", "third!"),
        Update(1, "done", "first!"),
    )
    assert out == "".join(f"{text}\n\n{PROMPT}" for text in ("first!", "second", "third!"))


def test_busy_until_what_is_expected_has_come() -> None:
    screen = Screen(io.StringIO(), False)
    assert not screen.busy
    screen.expect(0)
    assert not screen.busy
    screen.expect(4)
    assert screen.busy
    screen.show(Update(4, "running", "x"))
    screen.show(Update(4, "done", "x"))
    assert not screen.busy


def test_an_end_without_a_word_is_named() -> None:
    assert shown(Update(1, "expired", "")) == f"(expired)\n\n{PROMPT}"
