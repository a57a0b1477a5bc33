"""Check the installed platforms."""

from __future__ import annotations

from collections.abc import Iterator

from bot.app.accounts import load_platform
from bot.cli.doctor import Finding
from bot.config import Config
from bot.config.platforms import installed_platforms, refused_platforms
from bot.errors import StartError


def plugins(config: Config) -> Iterator[Finding]:
    """Check the plug-ins. An unusable plug-in is a failure if an enabled account needs it, otherwise a
    note.
    """
    used = {account.platform for account in config.accounts}
    installed = installed_platforms()
    for refused in refused_platforms():
        replaces = installed[refused.name].is_built_in and not refused.is_built_in
        yield Finding(False if refused.name in used and not replaces else None, refused.complaint)
    for name, platform in installed.items():
        if platform.offer is not None and not platform.is_built_in:
            try:
                load_platform(name)
            except StartError as error:
                yield Finding(False if name in used else None, str(error))
            else:
                yield Finding(True, f"platform {name} from the package {platform.package}")
