"""Chat command reference, from the command registry and the English catalogue."""

from __future__ import annotations

from bot.access import Role
from bot.app.features import installed_commands
from bot.commands.registry import PLAIN, Command
from bot.platforms.discord.manifest import MANIFEST as DISCORD
from bot.platforms.feishu.manifest import MANIFEST as FEISHU
from bot.platforms.local.manifest import TERMINAL, WEB
from bot.platforms.slack.manifest import MANIFEST as SLACK
from bot.platforms.telegram.manifest import MANIFEST as TELEGRAM
from bot.texts import CommandForms, TypedCommands, texts_for
from scripts.reference.markdown import page, table

INTRO = """
The service itself answers commands, without a model and ahead of waiting messages and running turns. Anyone
who can use the bot can use the commands in the first table; the second table is for admins and owners.

`/NAME TEXT` with the name of a [skill](../howto/write-skills.md) is not a command: it starts a turn in
which the agent uses that skill. Replace hyphens in the skill's name with `_`.
"""


FORMS = """
## How to type commands

In these tables, commands start with a slash. How to type them depends on the platform. The bot's messages
show commands as you type them in that chat (`bot` stands for the bot's name):
"""
MENTIONS = """
On every platform, you can also send `/roebot status` as a message, or mention the bot before the command, as
in `@bot status`. After a mention, a command needs no slash. Where the bot answers every message, such as in a
private chat, the words `@bot` and `@roebot` count as its name. In a group on Feishu, commands need a mention,
unless the app may read all messages. Without a slash, `digest` counts as a command only if a time follows
(`@bot digest weekdays 9:00 …`) and `announce` only with a colon (`@bot announce: …`); other sentences go to
the agent.

If a command offers a choice or asks for confirmation, as `/model`, `/threads` and schedule previews do, its
answer has buttons on platforms that support them. Only the person who sent the command can press them. Each
button stands for a command that you can also type.
"""
LOCAL = (WEB, TERMINAL)
"""Platforms without groups and threads."""


def render_chat_commands() -> str:
    """Return the page as Markdown."""
    registry = installed_commands()
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
        FORMS,
        _forms_table(),
        MENTIONS,
    )


def _forms_table() -> str:
    rows = [[one.title, *_list_forms(one.commands)] for one in (SLACK, TELEGRAM, DISCORD, FEISHU)]
    rows += [[one.title, _list_forms(one.commands)[0], "", "", ""] for one in LOCAL]
    return table(["platform", "private chat", "group", "thread", "skill in a group"], rows)


def _list_forms(forms: CommandForms) -> list[str]:
    """Return the forms of a command in each kind of chat, and that of a skill in a group."""
    typed = TypedCommands(forms, "bot")
    places = [(True, False, False), (False, False, False), (False, True, False), (False, False, True)]
    return [
        f"`{typed.render('NAME TEXT' if skill else 'status', private=private, thread=thread, skill=skill)}`"
        for private, thread, skill in places
    ]


def _table(found: list[Command]) -> str:
    texts = texts_for("en")
    return table(
        ["command", "purpose", "details"],
        [
            [f"`/{command.usage}`", texts(f"cmd_{command.name}"), texts(f"more_{command.name}")]
            for command in found
        ],
    )
