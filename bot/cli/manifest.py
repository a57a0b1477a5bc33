"""`roebot manifest`: what to do on the platform's side."""

from __future__ import annotations

from bot.accounts import load_manifest


def manifest_command(platform: str) -> None:
    """Print the steps of a platform. Raises StartError for one that there is not."""
    manifest = load_manifest(platform)
    print(f"{manifest.title}\n")
    for number, step in enumerate(manifest.setup_steps, 1):
        print(f"{number}. {step}")
    if not manifest.setup_steps:
        print("Nothing to set up: it is always there.")
