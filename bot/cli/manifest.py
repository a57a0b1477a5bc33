"""`roebot manifest`: setup steps for a platform."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bot.app.accounts import load_platform, load_setup
from bot.config.platforms import needed_keys
from bot.platforms.manifest import Manifest
from bot.platforms.setup import InvitesBot, LinksToSetup, PrintsAppManifest
from bot.texts import Texts

PAIR = "`/pair CODE owner`"
"""What a person sends in the web console or the terminal, to become the owner."""


def manifest_command(platform: str, texts: Texts) -> None:
    """Print the setup steps for a platform. Raises StartError if the platform is unknown."""
    offer = load_platform(platform)
    manifest = offer.manifest
    print(f"{manifest.title}\n")
    print("\n".join(number_lines(steps(manifest, texts))) or texts("setup_not_needed"))
    helper = load_setup(manifest)
    if isinstance(helper, PrintsAppManifest):
        print(f"\n{helper.app_manifest()}")
    if guide := offer.guide.strip():
        print(f"\n{guide}")


def steps(manifest: Manifest, texts: Texts) -> tuple[str, ...]:
    """Return all steps in order, including Roebot's own."""
    guide = manifest.guide(texts.locale)
    if not guide.setup_steps:
        return ()
    helper = load_setup(manifest)
    link = helper.setup_link() if isinstance(helper, LinksToSetup) else ""
    invite = asyncio.run(helper.invite_link(None)) if isinstance(helper, InvitesBot) else ""
    last = texts("setup_last_step", write=guide.write_to_it, pair=PAIR)
    return (
        *(step.replace("{link}", link) for step in guide.setup_steps),
        _roebot_step(manifest.platform, texts),
        *([guide.invite_step.replace("{link}", invite)] if guide.invite_step else []),
        *guide.later_steps,
        last,
    )


def _roebot_step(platform: str, texts: Texts) -> str:
    names = needed_keys(platform)
    fields = ", ".join(f"{key}: ${name}" for key, name in names.items())
    return texts(
        "setup_roebot_step",
        platform=platform,
        keys=texts("setup_and").join(names),
        variables=texts("setup_and").join(names.values()),
        entry=f"{{{platform}: {{{fields}}}}}",
    )


def number_lines(lines: Sequence[str], first: int = 1) -> list[str]:
    """Return numbered lines."""
    return [f"{number}. {line}" for number, line in enumerate(lines, first)]
