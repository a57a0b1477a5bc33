"""Check the platforms of other packages."""

from __future__ import annotations

from collections.abc import Iterator

from bot.app.accounts import load_plugin
from bot.cli.doctor import Finding
from bot.config import Config
from bot.config.plugins import installed_plugins, refused_plugins
from bot.errors import StartError


def plugins(config: Config) -> Iterator[Finding]:
    """Check the plug-ins. One that can't be used is a failure if an enabled account needs it, else a note."""
    used = {account.platform for account in config.accounts}
    for plugin in refused_plugins():
        replaces = plugin.name not in installed_plugins()
        yield Finding(False if plugin.name in used and not replaces else None, plugin.complaint)
    for name, plugin in installed_plugins().items():
        if plugin.platform is not None:
            try:
                load_plugin(name)
            except StartError as error:
                yield Finding(False if name in used else None, str(error))
            else:
                yield Finding(True, f"platform {name} from the package {plugin.package}")
