"""What a terminal shows of replies that grow."""

from __future__ import annotations

import io
import os

import pytest

from bot.cli.chat.client import Update
from bot.cli.chat.terminal import PROMPT, Screen, count_rows


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


def on_screen(out: str, columns: int) -> list[str]:
    """The lines of a terminal after these characters, without colors."""
    rows, at = [""], 0
    index = 0
    while index < len(out):
        rest = out[index:]
        if rest.startswith("\x1b["):
            end = next(place for place, char in enumerate(rest) if char.isalpha())
            if rest[end] == "A":
                at -= int(rest[2:end])
            elif rest[end] == "J":
                del rows[at + 1 :]
                rows[at] = ""
            index += end + 1
            continue
        if rest[0] == "\n" or len(rows[at]) == columns:
            at += 1
            rows += [""] * (at + 1 - len(rows))
        if rest[0] not in "\r\n":
            rows[at] += rest[0]
        index += 1
    return rows


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["Let me check.", "> > Let me check.\n> > bash", "It is five."], ["It is five."]),
        (["Hello", "Hello\n\n> > ls", "Hello there"], ["Hello there"]),
        (["One\n\nTwo", "One\n\nThree"], ["One", "", "Three"]),
        (["a long line that wraps here", "short"], ["short"]),
        (["Hello you", "Hello"], ["Hello"]),
    ],
)
def test_a_terminal_takes_back_what_is_no_longer_said(texts: list[str], lines: list[str]) -> None:
    out = io.StringIO()
    screen = Screen(out, True, lambda: os.terminal_size((20, 24)))
    for text in texts:
        screen.show(Update(1, "running", text))
    assert on_screen(out.getvalue(), 20) == lines


def test_what_has_left_the_screen_is_printed_anew() -> None:
    out = io.StringIO()
    screen = Screen(out, True, lambda: os.terminal_size((20, 2)))
    for text in ("One\nTwo\nThree", "Four"):
        screen.show(Update(1, "running", text))
    assert out.getvalue() == "One\nTwo\nThree\n\nFour"


def test_rows_of_a_line() -> None:
    assert [count_rows(line, 4) for line in ("", "four", "five5", "图图", "图图图")] == [1, 1, 2, 1, 2]
