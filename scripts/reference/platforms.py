"""Platform reference, from the manifests and the protocols that the adapters implement."""

from __future__ import annotations

import asyncio
import re

from bot.app.accounts import load_factory, load_manifest
from bot.cli.manifest import number_lines, steps
from bot.config.accounts import AccountConfig
from bot.config.platforms import built_in_platforms
from bot.domain import ChatKind
from bot.platforms.manifest import Budget, Manifest, Operation
from bot.texts import texts_for
from roebot_testing.conformance.needs import implements, optional_protocols
from scripts.reference.answer_placement import place_answers
from scripts.reference.markdown import code, first_line, page, table

CAPABILITIES = """
## Capabilities

Each capability is an optional protocol in `bot.platforms.base`. The conformance suite
(`roebot_testing.conformance`) tests every capability that an adapter implements.
"""
_LONG_LINK = re.compile(r"\n\nhttps://\S{200,}\n")
_PACED = "as often as the platform's limits allow."
SIGNS = """
## Activity indicators

From 0.1 s after a message until the first words are visible, and again while a slow command runs:
"""
MARKS = """
An account with `reaction` also marks each message with that reaction
from the moment it is accepted until its answer is posted.
"""
MENTIONS = """
## Mentions

The agent writes `@Name` or `#channel`. In the final answer, such a name becomes a mention if it stands for
exactly one person or channel that the bot has seen in the conversation or in the chat's record. Everything
else stays plain text:

- names that several people share, names of apps, and `everyone`, `here` and `all`
- names of roles and user groups, except those that the account allows
- names in code, links, quotes and tables
- everything in private chats and in the answers to commands

A message has up to 20 mentions. Platforms notify people about new messages, not about edits. So an answer
that begins by mentioning somebody other than the person who asked is posted when it is complete; a name
that comes up later in a streaming answer becomes a mention that notifies nobody.
"""
MANNERS = """
## Where an answer appears

In a group, the bot answers only commands and messages that mention it or reply to it. In a private chat, it
answers every message. With the default, `isolation: topic`:
"""
ISOLATION = """
With `isolation: chat`, a whole chat is one conversation. With `isolation: member`, each member of a group
has their own conversation. With every message, the agent sees its sender's id, name and role. The web console
and the terminal have only private chats.
"""


def render_platforms() -> str:
    """Return the page as Markdown."""
    manifests = {name: load_manifest(name) for name in built_in_platforms()}
    return page(
        "Platforms",
        CAPABILITIES,
        _capabilities(manifests),
        *(_numbers(manifest) for manifest in manifests.values()),
        SIGNS,
        table(["platform", "indicator"], [[one.title, one.activity] for one in manifests.values()]),
        MARKS,
        MENTIONS,
        MANNERS,
        table(["message", "answer", "conversation"], asyncio.run(place_answers())),
        ISOLATION,
    )


def _capabilities(manifests: dict[str, Manifest]) -> str:
    adapters = {name: load_factory(manifest)(name, _account(name)) for name, manifest in manifests.items()}
    rows = []
    for capability in optional_protocols():
        marks = ["yes" if implements(adapter, capability) else "no" for adapter in adapters.values()]
        rows.append([code(capability.__name__), first_line(capability.__doc__), *marks])
    head = ["capability", "description", *(manifest.title for manifest in manifests.values())]
    return table(head, rows)


def _account(name: str) -> AccountConfig:
    return built_in_platforms()[name](name=name, platform=name)


def _first_frame(manifest: Manifest) -> str:
    if not manifest.first_frame_after:
        return "at once"
    characters = manifest.first_frame_characters
    return f"after {manifest.first_frame_after:g} s or {characters} characters, whichever comes first"


def _numbers(manifest: Manifest) -> str:
    lines = [
        f"## {manifest.title}",
        f"A reply first appears {_first_frame(manifest)}, and is then updated "
        + (f"every {manifest.frame_interval:g} s." if manifest.frame_interval else _PACED),
    ]
    rows = [[_limit(budget), _what(budget), _where(budget), budget.source] for budget in manifest.budgets]
    lines.append(table(["limit", "calls", "per", "source"], rows))
    if said := number_lines(steps(manifest, texts_for("en"))):
        lines += ["Setup:", _LONG_LINK.sub(" `roebot manifest` prints the link.", "\n".join(said))]
    return "\n\n".join(lines)


def _limit(budget: Budget) -> str:
    kept = f", {budget.reserve} reserved for final answers" if budget.reserve else ""
    burst = f", up to {budget.burst} at once after a pause" if budget.burst else ""
    return f"{budget.count} call{'s' * (budget.count != 1)} in {budget.period:g} s{burst}{kept}"


def _what(budget: Budget) -> str:
    everything = len(budget.operations) == len(Operation)
    return "all calls" if everything else ", ".join(sorted(one.value for one in budget.operations))


def _where(budget: Budget) -> str:
    kinds = "" if len(budget.kinds) == len(ChatKind) else f" ({', '.join(sorted(budget.kinds))})"
    return f"each {budget.scope.value}{kinds}"
