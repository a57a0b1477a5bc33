"""Which commands there are. One entry feeds parsing, permission, help, native registration and
documentation.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.access import AccessPolicy, People, Role
from bot.clock import Clock
from bot.config import Rejected, Reloaded
from bot.dispatch.outlet import Accounts
from bot.domain import Turn
from bot.platforms.base import CommandHint
from bot.runtime.port import RuntimePort
from bot.store import BotStore
from bot.texts import Texts

# Commands have no hyphens; the skills that can be asked for like commands do.
NAME = re.compile(r"/(?P<name>[A-Za-z0-9_][A-Za-z0-9_-]{0,63})(?:@\w+)?(?:\s+(?P<rest>.*))?", re.DOTALL)
# A plain word that means a command, so that nobody in a hurry has to find the slash.
PLAIN = {"stop": "stop"}
LONGEST_NUMBER = 9
"""Digits."""
SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class Services:
    """What a command may use. `queue_limit`: messages that wait in a conversation at most; `deliver` has a
    notice delivered that the store has opened.
    """

    store: BotStore
    people: People
    policy: Callable[[str], AccessPolicy]
    busy: Callable[[str], str]
    texts: Callable[[str], Texts]
    deliver: Callable[[int], None]
    runtime: RuntimePort
    accounts: Accounts
    clock: Clock
    stop: Callable[[int], Awaitable[bool]]
    reload: Callable[[], Awaitable[Reloaded | Rejected]]
    wake: Callable[[int], None]
    new_id: Callable[[], str]
    queue_limit: int


@dataclass(frozen=True, slots=True)
class Invocation:
    """One use of a command: the turn that answers it, its name and words, who asked, in which language."""

    turn: Turn
    name: str
    words: tuple[str, ...]
    role: Role
    texts: Texts
    services: Services
    registry: Registry


@dataclass(frozen=True, slots=True)
class Result:
    """The answer, in Markdown. `composed` says that the handler's transaction has recorded it already, or has
    handed the turn to the agent.
    """

    text: str
    composed: bool = False


def nearest(name: str, names: Sequence[str], cutoff: float = 0.4) -> list[str]:
    """Those of the names that look like the one somebody wrote."""
    return difflib.get_close_matches(name, names, n=3, cutoff=cutoff)


def nearest_line(texts: Texts, names: Sequence[str], mark: str = "/") -> str:
    """ " Did you mean …?", each name with the mark before it; "" without names."""
    if not names:
        return ""
    return texts("nearest", names=", ".join(f"`{mark}{name}`" for name in names))


Handler = Callable[[Invocation], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command as everything about it is derived from."""

    name: str
    handler: Handler
    argument: str = ""
    role: Role = Role.MEMBER
    most_words: int = 0
    starts_thread: bool = False
    resumes_thread: bool = False
    with_slash: bool = False
    """Whether its name alone is only a word, even where the bot is meant."""

    @property
    def usage(self) -> str:
        """Name and argument as help shows them."""
        return f"{self.name} {self.argument}".strip()


@dataclass(frozen=True, slots=True)
class Parsed:
    """A message that is a command: its name in lower case, and its words."""

    name: str
    words: tuple[str, ...]

    @property
    def number(self) -> int:
        """The number that its first word is, 0 for none."""
        return number_in(self.words)


def number_in(words: Sequence[str]) -> int:
    """The number that the first word is, 0 for none."""
    first = words[0] if words else ""
    return int(first) if first.isascii() and first.isdecimal() and len(first) <= LONGEST_NUMBER else 0


class Registry:
    """The commands of this version."""

    def __init__(self, commands: list[Command], fallback: Handler) -> None:
        self._commands = {command.name: command for command in commands}
        self.fallback = fallback

    def get(self, name: str) -> Command | None:
        """The command of that name."""
        return self._commands.get(name)

    def for_role(self, role: Role) -> list[Command]:
        """What somebody with this role may use."""
        return [command for command in self._commands.values() if role >= command.role]

    def nearest(self, name: str, more: Sequence[str] = ()) -> list[str]:
        """Names, of these `more` too, that look like the one somebody wrote."""
        return nearest(name, [*self._commands, *more], cutoff=0.5)

    def hints(self, texts: Texts) -> list[CommandHint]:
        """What a platform's native menu shows."""
        return [CommandHint(name, texts(f"cmd_{name}")) for name in self._commands]

    def parse(self, text: str, *, mentioned: bool) -> Parsed | None:
        """The command that a message is, None for anything else.

        `/name words` always is one, whether known or not. A plain "stop" is one too; after a mention so is a
        known name alone, or with the words that it takes.
        """
        text = text.strip()
        if match := NAME.fullmatch(text):
            return Parsed(match["name"].lower(), tuple((match["rest"] or "").split()))
        words = text.lower().split()
        if len(words) == 1 and words[0].rstrip(".!") in PLAIN:
            return Parsed(PLAIN[words[0].rstrip(".!")], ())
        command = self._commands.get(words[0]) if mentioned and words else None
        if command is not None and not command.with_slash and len(words) - 1 <= command.most_words:
            return Parsed(command.name, tuple(text.split()[1:]))
        return None
