"""Packages that offer platforms or features by entry points, as pip would have installed them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from threading import Thread

from bot.app import features
from bot.config import platforms

PIGEON = """
    from bot.config import AccountConfig, Secret
    from bot.platforms.manifest import Budget, Manifest, Platform, Scope


    class PigeonAccount(AccountConfig):
        person_pattern = r"[a-z]+"
        platform: str = "pigeon"
        ring: Secret | None = None

        def needs(self):
            return {"ring": "add the number on the pigeon's ring"}


    PLATFORM = Platform(
        Manifest(
            platform="pigeon",
            title="Carrier pigeon",
            adapter="pigeons:create",
            extra="",
            budgets=(Budget(Scope.CHAT, 1, 1.0, "one pigeon"),),
            setup_steps=("Buy a pigeon.",),
        ),
        PigeonAccount,
        guide="# Pigeons\\n\\nFeed them **daily**. <script>alert(1)</script>",
    )


    def create(name, config):
        from roebot_testing.adapter import RecordingAdapter

        return RecordingAdapter(name)
"""
Install = Callable[..., None]


@contextmanager
def plugin_packages(folder: Path) -> Iterator[Install]:
    """Provide a function that installs a package: `install(name, code, **entry_points)`."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    _forget()

    def install(name: str, code: str = PIGEON, group: str = platforms.GROUP, **points: str) -> None:
        (folder / f"{name}.py").write_text(dedent(code))
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{platform} = {value}\n" for platform, value in points.items()]
        (info / "entry_points.txt").write_text(f"[{group}]\n{''.join(lines)}")
        _forget()

    try:
        yield install
    finally:
        sys.path.remove(str(folder))
        for module in set(sys.modules) - before:
            if str(folder) in str(getattr(sys.modules[module], "__file__", "")):
                del sys.modules[module]
        _forget()


def _forget() -> None:
    platforms.find_platform.cache_clear()
    platforms._entries.cache_clear()
    features.load_features.cache_clear()
    # As at the start of the service, the built-in platforms are loaded outside of a loop.
    loading = Thread(target=_load_built_in)
    loading.start()
    loading.join()


def _load_built_in() -> None:
    for name, points in platforms._entries().items():
        if any(map(platforms._is_built_in, points)):
            platforms.find_platform(name)
