"""Which commands there are. One entry feeds parsing, permission, help, native registration and
documentation.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.access import AccessPolicy, GrantedRoles, Permission, Role, has_permission
from bot.access.budgets import Budgets
from bot.clock import Clock
from bot.config import Rejected, Reloaded
from bot.domain import AccountState, ChatKind, Origin, Turn, TurnKind
from bot.platforms.base import CommandHint
from bot.privacy.chat_record import RecordSettings
from bot.privacy.retention import RetentionJob
from bot.runtime.interface import AgentRuntime
from bot.schedules.service import ScheduleService
from bot.store import Database
from bot.store.audit import Actor
from bot.store.budgets import Limit
from bot.texts import Texts

# Commands have no hyphens; the skills that can be asked for like commands do.
NAME = re.compile(r"/(?P<name>[A-Za-z0-9_][A-Za-z0-9_-]{0,63})(?:@\w+)?(?:\s+(?P<rest>.*))?", re.DOTALL)
# The same as a word, after a mention.
WORD = re.compile(r"(?P<name>[A-Za-z0-9_]{1,64})(?P<rest>(?:\s+|[:\uff1a]).*)?", re.DOTALL)
# Plain words that mean a command, so that nobody in a hurry has to find the slash.
STOP_WORDS = (
    *["stop", "stopp", "halt", "arrête", "arrete", "alto", "detente", "basta", "pare", "стоп"],
    *["停", "停止", "停下", "停一下", "ストップ", "止めて", "やめて", "그만", "멈춰", "중지"],
)
PLAIN = dict.fromkeys(STOP_WORDS, "stop")
_AFTER_A_WORD = ".!。！…"
COLONS = (":", "\uff1a")
LONGEST_NUMBER = 9
"""Digits."""
MOST_AFTER_A_NUMBER = 1
"""Words."""
SWITCH = {"on": True, "off": False}


class CommandAccount(Protocol):
    """An account as commands see it."""

    @property
    def agent(self) -> str:
        """The custom agent that answers in the account ("" for the default agent)."""
        ...


class CommandAccounts(Protocol):
    """The accounts that the service runs, as commands see them."""

    def get(self, account: str) -> CommandAccount | None:
        """Return a running account, or None if the configuration has none of that name."""
        ...

    def state(self, account: str) -> AccountState:
        """Return the live state of one account."""
        ...

    def states(self) -> Mapping[str, tuple[str, AccountState]]:
        """Return platform and live state of every account, by name."""
        ...

    def restart(self, account: str) -> bool:
        """Restart an account. Return False if there is no account of that name."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """What a command may use. `kept_days` says for how long an account keeps what was said (0: for ever);
    `queue_limit`: messages that wait in a conversation at most; `joined`: how many of them have joined its
    run; `deliver` has a notice delivered that the store has opened; `page` is where people reach the page, ""
    where nobody does.
    """

    db: Database
    desk: ScheduleService
    forgetter: RetentionJob
    kept_days: Callable[[str], int]
    recorded: RecordSettings
    budgets: Budgets
    people: GrantedRoles
    policy: Callable[[str], AccessPolicy]
    busy: Callable[[str], str]
    texts: Callable[[str], Texts]
    deliver: Callable[[int], None]
    runtime: AgentRuntime
    accounts: CommandAccounts
    clock: Clock
    stop: Callable[[int, Actor | None], Awaitable[bool]]
    interrupt: Callable[[int], None]
    joined: Callable[[int], int]
    reload: Callable[[], Awaitable[Reloaded | Rejected]]
    wake: Callable[[int], None]
    page: Callable[[], str]
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

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The budgets that the asker is held to here."""
        turn, address = self.turn, self.turn.address
        sender = turn.messages[-1].sender
        origin = Origin(address.account, turn.platform, address.chat, address.chat_kind, "", sender)
        return self.services.budgets.limits_for(origin, self.role, self.texts)

    def may(self, power: Permission) -> bool:
        """Whether who asked may do that."""
        return has_permission(self.role, power)


@dataclass(frozen=True, slots=True)
class Document:
    """A file that goes with an answer: JSON, as text."""

    filename: str
    content: str


@dataclass(frozen=True, slots=True)
class Result:
    """The answer, in Markdown. `composed` says that the handler's transaction has recorded it already, or has
    handed the turn to the agent. `sealed` are words of the text and the secret that is told in their place:
    that goes to the asker and into no database.
    """

    text: str
    composed: bool = False
    documents: tuple[Document, ...] = ()
    sealed: tuple[str, str] | None = None


def nearest(name: str, names: Sequence[str], cutoff: float = 0.4) -> list[str]:
    """Those of the names that look like the one somebody wrote."""
    return difflib.get_close_matches(name, names, n=3, cutoff=cutoff)


def nearest_line(texts: Texts, names: Sequence[str], mark: str = "/") -> str:
    """ " Did you mean …?", each name with the mark before it; "" without names."""
    if not names:
        return ""
    shown = (
        texts.command(f"{mark[1:]}{name}") if mark.startswith("/") else f"{mark}{name}" for name in names
    )
    return texts("nearest", names=texts("list_separator").join(f"`{name}`" for name in shown))


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
    """Whether it needs its slash: its name is what people answer to a question."""
    numbered: bool = False
    """Whether its name and a number are it without the slash, wherever that is said."""
    as_word: Callable[[str], bool] | None = None
    """Whether it is meant without the slash, by what follows its name: for commands that take any text, so
    that no sentence for the agent is taken for one. Without this: whatever has at most `most_words` words."""
    private: bool = False
    """Whether its answer is for who asked alone, in a group of a platform that has such answers: what is
    about oneself, and what admins do. Nothing that changes something for the group."""
    public: tuple[str, ...] = ()
    """First words after which everybody sees the answer of a private command all the same."""

    @property
    def usage(self) -> str:
        """Name and argument as help shows them."""
        return f"{self.name} {self.argument}".strip()

    def answers_alone(self, role: Role, words: Sequence[str]) -> bool:
        """Whether only who asked sees the answer: of a private command, or that it is not for their role."""
        shown = bool(words) and words[0].lower() in self.public
        return role < self.role or (self.private and not shown)

    def is_numbered(self, rest: str) -> bool:
        """Whether its name and this say what is meant by a number."""
        words = rest.split()
        return self.numbered and bool(number_in(words)) and len(words) <= MOST_AFTER_A_NUMBER + 1

    def is_meant(self, rest: str) -> bool:
        """Whether its name without the slash, and this after it, is a use of it."""
        if self.with_slash:
            return False
        if self.as_word is not None:
            return self.as_word(rest)
        return not rest.startswith(COLONS) and len(rest.split()) <= self.most_words


@dataclass(frozen=True, slots=True)
class Parsed:
    """A message that is a command: its name in lower case, and its words."""

    name: str
    words: tuple[str, ...]

    @property
    def number(self) -> int:
        """The number that its first word is, 0 for none."""
        return number_in(self.words)


def text_after(message: str) -> str:
    """What follows the name of a command, as it was written."""
    written = NAME.fullmatch(message.strip()) or WORD.fullmatch(message.strip())
    return (
        ((written and written["rest"]) or "").strip().removeprefix(COLONS[0]).removeprefix(COLONS[1]).strip()
    )


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

    def answers_alone(self, text: str, role: Role) -> bool:
        """Whether what answers a command in a group is for who gave it alone."""
        parsed = self.parse(text, mentioned=True)
        command = self.get(parsed.name) if parsed else None
        return parsed is not None and command is not None and command.answers_alone(role, parsed.words)

    def alone_for(self, turn: Turn, roles: Callable[[Turn], Role]) -> str:
        """The id of the one person whom what answers a turn is for, "" for everybody."""
        if turn.kind is not TurnKind.COMMAND or turn.address.chat_kind is not ChatKind.GROUP:
            return ""
        asked = next(iter(turn.messages), None)
        alone = asked is not None and self.answers_alone(asked.text, roles(turn))
        return asked.sender.id if asked is not None and alone else ""

    def nearest(self, name: str, more: Sequence[str] = ()) -> list[str]:
        """Names, of these `more` too, that look like the one somebody wrote."""
        return nearest(name, [*self._commands, *more], cutoff=0.5)

    def hints(self, texts: Texts) -> list[CommandHint]:
        """What a platform's native menu shows."""
        return [CommandHint(name, texts(f"cmd_{name}")) for name in self._commands]

    def parse(self, text: str, *, mentioned: bool) -> Parsed | None:
        """The command that a message is, None for anything else.

        `/name words` always is one, whether known or not. A plain "stop" is one too, in the usual
        languages; after a mention so is a known name alone, or with what it takes: see `Command.is_meant`.
        "approve 12" says what it means anywhere.
        """
        text = text.strip()
        if match := NAME.fullmatch(text):
            return Parsed(match["name"].lower(), tuple((match["rest"] or "").split()))
        words = text.lower().split()
        if len(words) == 1 and (plain := PLAIN.get(words[0].rstrip(_AFTER_A_WORD))):
            return Parsed(plain, ())
        written = WORD.fullmatch(text)
        command = self._commands.get(written["name"].lower()) if written else None
        rest = ((written and written["rest"]) or "").strip()
        if command is None or not (command.is_numbered(rest) or (mentioned and command.is_meant(rest))):
            return None
        return Parsed(command.name, tuple(rest.lstrip("".join(COLONS)).split()))
