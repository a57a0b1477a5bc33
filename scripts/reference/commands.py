"""Chat command reference, from the command registry and the English catalogue."""

from __future__ import annotations

from bot.access import Role
from bot.commands.core_commands import build_registry
from bot.commands.registry import PLAIN, Command
from bot.texts import texts_for
from scripts.reference.markdown import page, table

INTRO = """
The service itself answers commands, without a model and ahead of waiting messages and running turns. A
command starts with a slash: `/status`, or `/roebot status` on Slack. In a group, you can also mention the
bot: `@bot status`. After a mention, `digest` counts as a command only if a time follows (`@bot digest
weekdays 9:00 …`), and `announce` only with a colon (`@bot announce: …`). Anyone who can use the bot can use
the commands in the first table; the second table is for admins and owners.

`/NAME TEXT` with the name of a [skill](../howto/write-skills.md) is not a command: it starts a turn in
which the agent uses that skill. Replace hyphens in the skill's name with `_`.
"""


def render_chat_commands() -> str:
    """Return the page as Markdown."""
    registry = build_registry()
    everybody = [command for command in registry.for_role(Role.OWNER) if command.role < Role.ADMIN]
    admins = [command for command in registry.for_role(Role.OWNER) if command.role >= Role.ADMIN]
    words: dict[str, list[str]] = {}
    for word, name in PLAIN.items():
        words.setdefault(name, []).append(f"`{word}`")
    plain = " ".join(
        f"Instead of `/{name}`, you can also send one of these words: {', '.join(found)}."
        for name, found in words.items()
    )
    return page(
        "Chat commands",
        INTRO,
        _table(everybody),
        "## Admin commands",
        _table(admins),
        plain,
    )


def _table(found: list[Command]) -> str:
    texts = texts_for("en")
    return table(
        ["command", "purpose", "details"],
        [
            [f"`/{command.usage}`", texts(f"cmd_{command.name}"), texts(f"more_{command.name}")]
            for command in found
        ],
    )
