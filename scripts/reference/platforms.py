"""The platforms, from their manifests and the capabilities that their adapters implement."""

from __future__ import annotations

import asyncio

from bot.app.accounts import load_factory, load_manifest
from bot.cli.manifest import numbered, steps
from bot.config.accounts import PLATFORMS, AccountConfig
from bot.domain import ChatKind
from bot.platforms.base import Budget, Manifest, Operation
from bot.testing.conformance.capabilities import implements, optional_protocols
from scripts.reference.manners import manners
from scripts.reference.markdown import code, first_line, page, table

CAPABILITIES = """
## Capabilities

What an adapter can do is a small protocol of `bot.platforms.base` that it implements; the conformance suite
(`bot.testing.conformance`) runs the cases of those that it finds.
"""
_PACED = "then as the limits allow."
MANNERS = """
## Where an answer appears

In a group the bot answers only who mentions it, replies to it, or gives it a command. In a private chat every
message is for it. With `isolation: topic`, the default:
"""
ISOLATION = """
`isolation: chat` makes one conversation of a whole chat; `isolation: member` gives each member of a group
their own. In a group the agent reads every message with the name of its sender. The page and the terminal
have private chats only.
"""


def platforms() -> str:
    """The page."""
    manifests = {name: load_manifest(name) for name in PLATFORMS}
    return page(
        "Platforms",
        CAPABILITIES,
        _capabilities(manifests),
        *(_numbers(manifest) for manifest in manifests.values()),
        MANNERS,
        table(["what is written", "the answer appears", "conversation"], asyncio.run(manners())),
        ISOLATION,
    )


def _capabilities(manifests: dict[str, Manifest]) -> str:
    adapters = {name: load_factory(manifest)(name, _account(name)) for name, manifest in manifests.items()}
    rows = []
    for capability in optional_protocols():
        marks = ["yes" if implements(adapter, capability) else "no" for adapter in adapters.values()]
        rows.append([code(capability.__name__), first_line(capability.__doc__), *marks])
    head = ["capability", "meaning", *(manifest.title for manifest in manifests.values())]
    return table(head, rows)


def _account(name: str) -> AccountConfig:
    return PLATFORMS[name](name=name, platform=name)


def _numbers(manifest: Manifest) -> str:
    lines = [
        f"## {manifest.title}",
        f"First text after {manifest.first_frame_after:g} s or {manifest.first_frame_characters} characters, "
        + (f"then every {manifest.frame_interval:g} s." if manifest.frame_interval else _PACED),
    ]
    rows = [[_limit(budget), _what(budget), _where(budget), budget.source] for budget in manifest.budgets]
    lines.append(table(["at most", "for", "counted for", "source"], rows))
    if said := numbered(steps(manifest)):
        lines += ["Set-up:", "\n".join(said)]
    return "\n\n".join(lines)


def _limit(budget: Budget) -> str:
    kept = f", {budget.reserve} kept for finals" if budget.reserve else ""
    return f"{budget.count} calls in {budget.period:g} s{kept}"


def _what(budget: Budget) -> str:
    everything = len(budget.operations) == len(Operation)
    return "all calls" if everything else ", ".join(sorted(one.value for one in budget.operations))


def _where(budget: Budget) -> str:
    kinds = "" if len(budget.kinds) == len(ChatKind) else f" ({', '.join(sorted(budget.kinds))})"
    return f"each {budget.scope.value}{kinds}"
