"""`roebot manifest`: setup steps for a platform."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from bot.app.accounts import load_manifest
from bot.config.accounts import PLATFORMS
from bot.platforms.base import Manifest


def manifest_command(platform: str) -> None:
    """Print the setup steps of a platform. Raises StartError for an unknown one."""
    manifest = load_manifest(platform)
    print(f"{manifest.title}\n")
    print("\n".join(numbered(steps(manifest))) or "Nothing to set up: it is always there.")
    if extra := document(platform):
        print(f"\n{extra}")


def titles(manifest: Manifest) -> str:
    """Return the headings above the platform's steps."""
    return f"{manifest.title}: what to do there, before the questions below"


def steps(manifest: Manifest) -> tuple[str, ...]:
    """Return all steps, with Roebot's own in their place."""
    if not manifest.setup_steps:
        return ()
    return (*manifest.setup_steps, *_here(manifest.platform), *manifest.later_steps, *_at_last(manifest))


def _here(platform: str) -> Sequence[str]:
    needed = PLATFORMS[platform].model_validate({"name": platform, "platform": platform}).needs()
    names = {key: f"{platform}_{key}".upper() for key in needed}
    entry = ", ".join(f"{key}: ${name}" for key, name in names.items())
    run = f"Run `roebot init {platform}`: it asks for {' and '.join(needed)}, tries that, writes config.yaml."
    there = f"put that into the environment as {' and '.join(names.values())}"
    return (
        f"{run} By hand: {there}, and into config.yaml `channels: {{{platform}: {{{entry}}}}}`, "
        "then start the service.",
    )


def _at_last(manifest: Manifest) -> Sequence[str]:
    return (
        f"{manifest.write_to_it} It does not know you, and answers with a code: `/pair CODE owner`, on the "
        "page or in `roebot chat`, makes it yours.",
    )


def numbered(lines: Sequence[str], first: int = 1) -> list[str]:
    """Number the lines."""
    return [f"{number}. {line}" for number, line in enumerate(lines, first)]


def document(platform: str) -> str:
    """Return the manifest file that the platform accepts, "" if it has none.

    It comes from `bot.platforms.<name>.app_manifest:document`.
    """
    name = f"bot.platforms.{platform}.app_manifest"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return ""
    return str(module.document())
