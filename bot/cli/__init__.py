"""The `roebot` command-line interface."""

from __future__ import annotations


def main() -> None:
    """Run the command line. A known error prints one line and exits with a nonzero code."""
    import sys

    from agent.config.errors import ConfigErrors
    from bot.cli.app import app
    from bot.errors import ConfigUnusable, RoebotError

    try:
        app()
    except (ConfigErrors, ConfigUnusable) as errors:
        print(f"roebot: the configuration is not usable:\n{errors}", file=sys.stderr)
        raise SystemExit(2) from None
    except RoebotError as error:
        print(f"roebot: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
