"""`roebot manifest`: setup steps for a platform."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from bot.app.accounts import load_manifest
from bot.config.accounts import PLATFORMS
from bot.platforms.base import Manifest


def manifest_command(platform: str) -> None:
    """Print the setup steps for a platform. Raises StartError if the platform is unknown."""
    manifest = load_manifest(platform)
    print(f"{manifest.title}\n")
    print("\n".join(number_lines(steps(manifest))) or "No setup is needed.")
    if extra := app_manifest(platform):
        print(f"\n{extra}")


def steps_heading(manifest: Manifest) -> str:
    """Return the heading above the platform's steps."""
    return f"{manifest.title}: complete these steps on the platform before you answer the questions below"


def steps(manifest: Manifest) -> tuple[str, ...]:
    """Return all steps in order, including Roebot's own."""
    if not manifest.setup_steps:
        return ()
    return (
        *manifest.setup_steps,
        *_roebot_step(manifest.platform),
        *manifest.later_steps,
        *_last_steps(manifest),
    )


def _roebot_step(platform: str) -> Sequence[str]:
    needed = PLATFORMS[platform].model_validate({"name": platform, "platform": platform}).needs()
    names = {key: f"{platform}_{key}".upper() for key in needed}
    entry = ", ".join(f"{key}: ${name}" for key, name in names.items())
    asked = " and ".join(needed)
    run = f"Run `roebot init {platform}`. It asks for {asked}, tests the account and writes config.yaml."
    there = f"set {' and '.join(names.values())} in the environment"
    return (
        f"{run} To do this by hand, {there}, add `channels: {{{platform}: {{{entry}}}}}` to config.yaml "
        "and start the service.",
    )


def _last_steps(manifest: Manifest) -> Sequence[str]:
    return (
        f"{manifest.write_to_it} The bot does not know you yet, so it replies with a code. "
        "Send `/pair CODE owner` in the web console or in `roebot chat` to become the bot's owner.",
    )


def number_lines(lines: Sequence[str], first: int = 1) -> list[str]:
    """Return the lines with their numbers."""
    return [f"{number}. {line}" for number, line in enumerate(lines, first)]


def app_manifest(platform: str) -> str:
    """Return the link that creates the app on the platform and the manifest in it, "" if there are none.

    They come from `creation_link` and `document` of `bot.platforms.<name>.app_manifest`.
    """
    name = f"bot.platforms.{platform}.app_manifest"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return ""
    return f"{module.creation_link()}\n\n{module.document()}"
