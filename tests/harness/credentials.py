"""The tokens of the services and runtimes that tests start."""

from __future__ import annotations

from pathlib import Path

from agent.shared.tokens import SERVICE_TOKEN_FILE

SERVICE_TOKEN = "test-service-3vJ9rQ0kXw7LmZ2b"
AGENT_TOKEN = "test-runtime-8hT4cN1sYp6GdE5u"
SIGNED = {"Authorization": f"Bearer {SERVICE_TOKEN}"}
"""Headers of the owner of a service."""
AGENT_SIGNED = {"Authorization": f"Bearer {AGENT_TOKEN}"}
"""Headers of a client of a runtime."""


def give_token(home: Path) -> None:
    """Put the token into the data directory of a service, as its first start would."""
    path = home / SERVICE_TOKEN_FILE
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(f"{SERVICE_TOKEN}\n")
