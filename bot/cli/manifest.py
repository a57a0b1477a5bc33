"""`roebot manifest`: what to do on the platform's side."""

from __future__ import annotations

import importlib

from bot.accounts import load_manifest


def manifest_command(platform: str) -> None:
    """Print the steps of a platform. Raises StartError for one that there is not."""
    manifest = load_manifest(platform)
    print(f"{manifest.title}\n")
    for number, step in enumerate(manifest.setup_steps, 1):
        print(f"{number}. {step}")
    if not manifest.setup_steps:
        print("Nothing to set up: it is always there.")
    document = _document(platform)
    if document:
        print(f"\n{document}")


def _document(platform: str) -> str:
    """What the platform itself wants to be given (`bot.platforms.<name>.app_manifest:document`), "" for
    none."""
    name = f"bot.platforms.{platform}.app_manifest"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return ""
    return str(module.document())
