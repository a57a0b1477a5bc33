"""The slash commands, from the registry and the catalogue of texts."""

from __future__ import annotations

from bot.access import Role
from bot.commands.core_commands import builtin
from bot.commands.registry import PLAIN, Command
from bot.texts import texts_for
from scripts.reference.markdown import page, table

INTRO = """
A command is answered by the service itself, without a model. It begins with a slash: `/status`. In a group
the form `@bot status` works too; `@bot digest weekdays 9:00 …` and `@bot announce: …` are told from a
sentence by the time and the colon. It overtakes messages that wait, and a running turn.
Commands are for everybody who may use the bot; those of the second table are for admins and owners.

`/NAME TEXT` with the name of a [skill](../howto/write-skills.md) is not a
command: it starts a turn in which the agent uses that skill. Write `_` for the hyphens in its name.
"""


def commands() -> str:
    """The page."""
    registry = builtin()
    everybody = [command for command in registry.for_role(Role.OWNER) if command.role < Role.ADMIN]
    admins = [command for command in registry.for_role(Role.OWNER) if command.role >= Role.ADMIN]
    plain = ", ".join(f"`{word}` means `/{name}`" for word, name in PLAIN.items())
    return page(
        "Commands", INTRO, _table(everybody), "## For admins", _table(admins), f"A word alone: {plain}."
    )


def _table(found: list[Command]) -> str:
    texts = texts_for("en")
    return table(
        ["command", "what it does", "more"],
        [
            [f"`/{command.usage}`", texts(f"cmd_{command.name}"), texts(f"more_{command.name}")]
            for command in found
        ],
    )
