"""Prompts at a terminal or from a pipe, whose end is an answer of its own."""

from __future__ import annotations

import getpass
import sys

from bot.errors import StartError

ENDED = "ended before all was said; nothing was written"


def ask(text: str, default: str | None = None, *, ended: str | None = None) -> str:
    """Read a line; return `default` if it is empty, `ended` (else `default`) at the end of input.

    Raises StartError if there is no such answer.
    """
    last = ended if ended is not None else default
    while True:
        try:
            given = input(text).strip()
        except EOFError:
            print()
            if last is None:
                raise StartError(ENDED) from None
            return last
        if not sys.stdin.isatty():
            print()
        if given or default is not None:
            return given or str(default)


def ask_secret(text: str) -> str:
    """Read a line like `ask`, without echo."""
    if not sys.stdin.isatty():
        return ask(text)
    while not (given := getpass.getpass(text).strip()):
        pass
    return given


def agreed(text: str, *, default: bool) -> bool:
    """Ask yes or no; any other word repeats the question, the end of input means no."""
    choice = f"[{'Y/n' if default else 'y/N'}]: "
    given = ask(f"{text} {choice}", "y" if default else "n", ended="n").lower()
    while given not in {"y", "yes", "n", "no"}:
        given = ask(f"y or n? {choice}", "y" if default else "n", ended="n").lower()
    return given in {"y", "yes"}
