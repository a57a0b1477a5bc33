"""The service's address for browsers, which its agent needs for links to the service."""

from __future__ import annotations

ADDRESS_VARIABLE = "ROEBOT_PUBLIC_URL"
"""Environment variable of the agent's process; the service sets it for the process that it starts."""
