"""Forms of commands as people type them on a platform, declared in its manifest.

Some platforms take every message with a leading slash for a command of their own, and offer those of apps only
outside threads. Some deliver only mentions from groups, or only commands with the bot's name. Two forms work
everywhere: `/roebot help` in a message, which all Roebots of a group answer, and a mention before the command.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

NOBODY = "bot"
"""Stands for the bot's name until the account has connected for the first time."""
_DECISION = re.compile(r"(?:approve|reject) \d+")


@dataclass(frozen=True, slots=True)
class CommandForms:
    """The forms that a platform accepts.

    `{name}` is the command without a slash, `{rest}` its arguments (with a blank before them), `{bot}` the
    bot's name and `{at_bot}` the name with an @, "" until it is known.
    """

    private: str = "/{name}{rest}"
    group: str = "@{bot} /{name}{rest}"
    thread: str = ""
    """In a thread of any chat; "" where threads make no difference."""
    decision: str = ""
    """In a thread, for the decision of an approval ("approve 12"); "" as any other command."""
    skill: str = ""
    """In a group, for the name of a skill, which no menu of the platform has; "" as any other command."""

    def choose(self, usage: str, *, private: bool, thread: bool, skill: bool) -> str:
        """Return how to type a command, given without its slash."""
        if thread and self.decision and _DECISION.fullmatch(usage):
            return self.decision
        if thread and self.thread:
            return self.thread
        if private:
            return self.private
        return self.skill or self.group if skill else self.group


@dataclass(frozen=True, slots=True)
class TypedCommands:
    """The command forms of an account's platform, and the bot's name there ("" until known)."""

    forms: CommandForms = field(default_factory=CommandForms)
    bot: str = ""

    def render(self, usage: str, *, private: bool, thread: bool, skill: bool) -> str:
        """Return a command as people type it, given without its slash."""
        name, blank, rest = usage.partition(" ")
        bot = self.bot.removeprefix("@").replace("`", "'")
        form = self.forms.choose(usage, private=private, thread=thread, skill=skill)
        fields = {
            "name": name,
            "rest": f"{blank}{rest}",
            "bot": bot or NOBODY,
            "at_bot": f"@{bot}" if bot else "",
        }
        return form.format_map(fields)


def plain_commands() -> TypedCommands:
    """Return the command forms of a chat that accepts only a slash."""
    return TypedCommands(CommandForms(group="/{name}{rest}"))


FindCommands = Callable[[], TypedCommands]
"""Returns how commands are typed now: the bot's name is known once its account has connected."""
