"""Command registry: one entry serves parsing, permissions, help, native registration and documentation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from bot.access import Caller, Permission, Role, Target
from bot.access.permissions import RULES
from bot.account_view import AccountView
from bot.commands.mentioned import insert_ids
from bot.config import Rejected, Reloaded
from bot.domain import ChatKind, Mention, Origin
from bot.platforms.base import CommandHint
from bot.profiles import Profile
from bot.runtime.interface import TokenUsage
from bot.store.audit import AuditEvent
from bot.store.usage_limits import UsageLimits
from bot.texts import Texts
from bot.turn import Turn, TurnKind
from bot.wiring import Core, RunControl

# Command names have no hyphens; skills, which can be called like commands, may.
NAME = re.compile(r"/(?P<name>[A-Za-z0-9_][A-Za-z0-9_-]{0,63})(?:@\w+)?(?:\s+(?P<rest>.*))?", re.DOTALL)
# The same without a slash, after a mention.
WORD = re.compile(r"(?P<name>[A-Za-z0-9_]{1,64})(?P<rest>(?:\s+|[:\uff1a]).*)?", re.DOTALL)
# The bot called by a name that works on every platform: as a command of its own, or as a mention that the
# platform does not know.
_CALL = re.compile(
    r"(?:(?P<slash>/roebot(?:@\w+)?)(?=\s|$)|@(?:roebot|bot)(?=[\s,:\uff0c\uff1a]|$))[\s,:\uff0c\uff1a]*",
    re.IGNORECASE,
)
_LONE_CALL = "/help"
# Words that stop a run without a slash.
STOP_WORDS = (
    *["stop", "stopp", "halt", "arrête", "arrete", "alto", "detente", "basta", "pare", "стоп"],
    *["停", "停止", "停下", "停一下", "ストップ", "止めて", "やめて", "그만", "멈춰", "중지"],
)
PLAIN = dict.fromkeys(STOP_WORDS, "stop")
_AFTER_A_WORD = ".!。！…"
COLONS = (":", "\uff1a")
# Maximum length of a number (digits), and of the text after it (words).
LONGEST_NUMBER = 9
MOST_AFTER_A_NUMBER = 1
SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class CommandServices:
    """Services for commands. `queue_limit` is the maximum number of waiting messages per conversation."""

    core: Core
    reload: Callable[[], Awaitable[Reloaded | Rejected]]
    queue_limit: int

    @property
    def runs(self) -> RunControl:
        """Return the control interface of open turns."""
        return self.core.runs


@dataclass(frozen=True, slots=True)
class Invocation:
    """A use of a command: its turn, name and arguments, the caller and their language."""

    turn: Turn
    name: str
    words: tuple[str, ...]
    role: Role
    texts: Texts
    services: CommandServices
    registry: Registry

    @property
    def core(self) -> Core:
        """Return the shared parts of the service."""
        return self.services.core

    @property
    def account(self) -> AccountView:
        """Return the settings of the account of the turn."""
        return self.core.account(self.turn.address.account)

    @property
    def profile(self) -> Profile:
        """Return the effective settings of the caller in this chat."""
        return self.account.profile_of(self.turn)

    @property
    def origin(self) -> Origin:
        """Return the caller and their chat."""
        address, sender = self.turn.address, self.turn.messages[-1].sender
        return Origin(address.account, self.turn.platform, address.chat, address.chat_kind, "", sender)

    @property
    def limits(self) -> UsageLimits:
        """Return the caller's usage limits in this chat."""
        return self.core.usage.limits_for(self.origin, self.role, self.texts)

    def role_label(self, role: Role) -> str:
        """Return the name of a role in the language of the answer."""
        return self.texts.label("role_name", role.name.lower())

    @property
    def caller(self) -> Caller:
        """Return the person who is using the command."""
        return Caller.of_turn(self.turn, self.role)

    def may(self, permission: Permission, target: Target | None = None) -> bool:
        """Return whether the caller has the permission, on the turn's account unless a target is given."""
        on = target or Target(self.turn.address.account)
        return self.core.permissions.decide(self.caller, permission, on)

    def may_use(self, command: Command) -> bool:
        """Return whether the caller may use a command at all: on their own account."""
        return self.may(command.permission, Target(self.caller.home.account))

    def refusal_of(self, command: Command) -> str:
        """Return why the caller may not use a command, or "" if they may."""
        if self.may_use(command):
            return ""
        key = "admins_only" if self.role < command.role else "all_accounts_only"
        return self.texts(key, name=self.name)


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """A JSON file attached to an answer, as text."""

    filename: str
    content: str


@dataclass(frozen=True, slots=True)
class Button:
    """A button below an answer that runs a command (without a slash); the answer mentions the command too."""

    label: str
    command: str


@dataclass(frozen=True, slots=True)
class Result:
    """An answer in Markdown.

    `composed`: the handler's transaction has already recorded the answer or handed the turn to the agent.
    `sealed` maps placeholders in the text to secrets, which are sent to the caller and never stored. `used`
    are the tokens that the command used. `refused`: the caller may use the command, but not in this way.
    Platforms without buttons, and those with fewer, leave `buttons` out.
    """

    text: str
    composed: bool = False
    documents: tuple[AnswerFile, ...] = ()
    sealed: tuple[str, str] | None = None
    used: TokenUsage | None = None
    refused: bool = False
    buttons: tuple[Button, ...] = ()


def nearest(name: str, names: Sequence[str], cutoff: float = 0.4) -> list[str]:
    """Return the names most similar to the given one."""
    return difflib.get_close_matches(name, names, n=3, cutoff=cutoff)


def nearest_line(texts: Texts, names: Sequence[str], mark: str = "/") -> str:
    """Return " Did you mean …?" with `mark` before each name, or "" without names."""
    if not names:
        return ""
    shown = (
        texts.command(f"{mark[1:]}{name}") if mark.startswith("/") else f"{mark}{name}" for name in names
    )
    return texts("nearest", names=texts("list_separator").join(f"`{name}`" for name in shown))


Handler = Callable[[Invocation], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class TopicWords:
    """Messages that are commands in the conversations whose topic is `prefix` and a number: "pause" in
    "incident-7" is `/incident 7 pause`.
    """

    prefix: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """Definition of a command."""

    name: str
    handler: Handler
    argument: str = ""
    permission: Permission = Permission.USE
    most_words: int = 0
    starts_thread: bool = False
    resumes_thread: bool = False
    with_slash: bool = False
    """The command needs its slash, since its name is also an answer to a question."""
    numbered: bool = False
    """Its name and a number are the command anywhere, without slash or mention."""
    matches_word: Callable[[str], bool] | None = None
    """Return True if its name after a mention and the text after it are the command, not a sentence for the
    agent. None: at most `most_words` words may follow."""
    private: bool = False
    """In a group, only the caller sees the answer, on platforms with such messages. For personal and
    administrative answers, never for a change that concerns the group."""
    public: tuple[str, ...] = ()
    """First arguments with which everybody sees the answer of a private command."""
    audited: Literal["", "name", "words"] = ""
    """What the audit log shows of a use that changes something: nothing (its handler records the change), its
    name, or its arguments too. Commands for admins are always recorded, with arguments."""
    changes_bare: bool = False
    """It changes something without arguments too."""
    topic_words: TopicWords | None = None
    """Messages that are this command in some conversations, without its name."""
    takes_person: bool = False
    """Its first argument can be a person, also as a mention in its message."""
    slow: bool = False
    """It waits for the agent, so that typing is shown."""

    @property
    def role(self) -> Role:
        """Return the lowest role that may use the command."""
        return RULES[self.permission].least

    @property
    def usage(self) -> str:
        """Return name and arguments as shown in help."""
        return f"{self.name} {self.argument}".strip()

    def audit_event(self, words: Sequence[str], *, refused: bool) -> AuditEvent | None:
        """Return the audit event for a use of the command, or None if it only displays data."""
        if self.role > Role.MEMBER:
            return AuditEvent("refused" if refused else "command", f"/{self.name}", " ".join(words))
        shows = bool(self.argument) and not words and not self.changes_bare
        if not self.audited or refused or shows:
            return None
        return AuditEvent("command", f"/{self.name}", " ".join(words) if self.audited == "words" else "")

    def answers_alone(self, role: Role, words: Sequence[str]) -> bool:
        """Return whether only the caller sees the answer: the command is private, or the caller's role may
        not use it.
        """
        is_public = bool(words) and words[0].lower() in self.public
        return role < self.role or (self.private and not is_public)

    def is_numbered(self, rest: str) -> bool:
        """Return whether the name and `rest` refer to an item by number."""
        words = rest.split()
        return self.numbered and bool(number_in(words)) and len(words) <= MOST_AFTER_A_NUMBER + 1

    def is_meant(self, rest: str) -> bool:
        """Return whether the name without a slash, followed by `rest`, is a use of the command."""
        if self.with_slash:
            return False
        if self.matches_word is not None:
            return self.matches_word(rest)
        return not rest.startswith(COLONS) and len(rest.split()) <= self.most_words


@runtime_checkable
class HandlesUnknownCommands(Protocol):
    """A handler of unknown commands."""

    async def handle_unknown(self, call: Invocation) -> Result | None:
        """Run an unknown command, or return None if it has no meaning here."""
        ...


async def run_unknown(call: Invocation) -> Result:
    """Let a feature run an unknown command, else suggest similar names."""
    for part in call.core.parts:
        if isinstance(part, HandlesUnknownCommands) and (found := await part.handle_unknown(call)):
            return found
    return suggest_names(call, call.name)


def suggest_names(call: Invocation, name: str, more: Sequence[str] = ()) -> Result:
    """Answer an unknown command with similar names, of commands and of `more`."""
    near = nearest_line(call.texts, call.registry.nearest(name, more))
    return Result(call.texts("unknown_command", name=name, nearest=near))


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed command message: the name in lower case, and the arguments."""

    name: str
    words: tuple[str, ...]

    @property
    def number(self) -> int:
        """Return the first argument as a number, or 0 if it is not a number."""
        return number_in(self.words)


def strip_call(message: str) -> tuple[str, bool]:
    """Return a message without leading mentions or names of the bot, and whether one was a mention.

    "/roebot status" is "/status", "/roebot" alone asks for help, and "@bot status" is "status".
    """
    text, is_mention = message.strip(), False
    while call := _CALL.match(text):
        text = text[call.end() :]
        if call["slash"]:
            text = f"/{text.removeprefix('/')}" if text else _LONE_CALL
        is_mention = is_mention or not call["slash"]
    return text, is_mention


def text_after(message: str) -> str:
    """Return the unchanged text after a command's name."""
    text, _ = strip_call(message)
    written = NAME.fullmatch(text) or WORD.fullmatch(text)
    return (
        ((written and written["rest"]) or "").strip().removeprefix(COLONS[0]).removeprefix(COLONS[1]).strip()
    )


def split_command(text: str) -> tuple[str, str] | None:
    """Split `/name words` into name and words; None for any other text."""
    match = NAME.fullmatch(strip_call(text)[0])
    return None if match is None else (match["name"], (match["rest"] or "").strip())


def number_in(words: Sequence[str]) -> int:
    """Return the first word as a number, or 0 if it is not a number."""
    first = words[0] if words else ""
    return int(first) if first.isascii() and first.isdecimal() and len(first) <= LONGEST_NUMBER else 0


class Registry:
    """All commands of this version."""

    def __init__(self, commands: list[Command], fallback: Handler) -> None:
        self._commands = {command.name: command for command in commands}
        self._topic_commands = {
            word: (command.topic_words.prefix, f"/{command.name} {{number}} {word}")
            for command in commands
            if command.topic_words is not None
            for word in command.topic_words.words
        }
        self.fallback = fallback

    def get(self, name: str) -> Command | None:
        """Return a command by name."""
        return self._commands.get(name)

    def for_role(self, role: Role) -> list[Command]:
        """Return the commands available to a role."""
        return [command for command in self._commands.values() if role >= command.role]

    def answers_alone(self, text: str, role: Role, mentions: Sequence[Mention] = ()) -> bool:
        """Return whether the answer to a group command is visible only to the caller."""
        parsed = self.parse(text, mentioned=True, mentions=mentions)
        command = self.get(parsed.name) if parsed else None
        return parsed is not None and command is not None and command.answers_alone(role, parsed.words)

    def alone_for(self, turn: Turn, roles: Callable[[Turn], Role]) -> str:
        """Return the id of the only person who may see the turn's answer, or "" for everyone."""
        if turn.kind is not TurnKind.COMMAND or turn.address.chat_kind is not ChatKind.GROUP:
            return ""
        asked = next(iter(turn.messages), None)
        alone = asked is not None and self.answers_alone(asked.text, roles(turn), asked.mentions)
        return asked.sender.id if asked is not None and alone else ""

    def nearest(self, name: str, more: Sequence[str] = ()) -> list[str]:
        """Return command names, and names in `more`, similar to the given one."""
        return nearest(name, [*self._commands, *more], cutoff=0.5)

    def hints(self, texts: Texts) -> list[CommandHint]:
        """Return the entries of a platform's native command menu."""
        return [CommandHint(name, texts(f"cmd_{name}")) for name in self._commands]

    def parse(self, text: str, *, mentioned: bool, mentions: Sequence[Mention] = ()) -> Parsed | None:
        """Parse a message as a command, or return None if it is not a command.

        `/name words` is always a command, known or not, also as `/roebot name words`. A plain "stop" in one
        of the supported languages is one too; so is a known name after a mention, alone or with its arguments
        (see `Command.is_meant`).
        "approve 12" is a command anywhere. In the words of a command that takes a person, ids stand for the
        people whom its message mentions.
        """
        text, is_called = strip_call(text)
        mentioned = mentioned or is_called
        if match := NAME.fullmatch(text):
            name = match["name"].lower()
            return Parsed(name, tuple(self._with_ids(name, match["rest"] or "", mentions).split()))
        words = text.lower().split()
        if len(words) == 1 and (plain := PLAIN.get(words[0].rstrip(_AFTER_A_WORD))):
            return Parsed(plain, ())
        written = WORD.fullmatch(text)
        command = self._commands.get(written["name"].lower()) if written else None
        rest = ((written and written["rest"]) or "").strip()
        rest = rest if command is None else self._with_ids(command.name, rest, mentions)
        if command is None or not (command.is_numbered(rest) or (mentioned and command.is_meant(rest))):
            return None
        return Parsed(command.name, tuple(rest.lstrip("".join(COLONS)).split()))

    def find_topic_command(self, text: str) -> tuple[str, str]:
        """Return the prefix of the topics in which a message is a command, and the command with `{number}`;
        two empty texts if it is none anywhere.
        """
        word = strip_call(text)[0].lower().rstrip(_AFTER_A_WORD)
        return self._topic_commands.get(word, ("", ""))

    def is_call(self, text: str) -> bool:
        """Return whether a message is a known command that addresses the bot by its own slash command. A
        command with a name ("/roebot@other") addresses another bot: adapters remove the name of this one.
        """
        found = _CALL.match(text.strip())
        is_ours = found is not None and found["slash"] and "@" not in found["slash"]
        parsed = self.parse(text, mentioned=False) if is_ours else None
        return parsed is not None and parsed.name in self._commands

    def _with_ids(self, name: str, rest: str, mentions: Sequence[Mention]) -> str:
        command = self._commands.get(name)
        return insert_ids(rest, mentions) if command is not None and command.takes_person else rest
