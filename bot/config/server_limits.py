"""Limits of the public port, which apply before authentication."""

from __future__ import annotations

from pydantic import Field

from agent.config.types import Count, Section
from agent.shared.connection_limits import ConnectionLimits

KILOBYTE = 1_000


class ServerLimits(Section):
    """Limits of the public port. Sizes are in kilobytes (1,000 bytes)."""

    connections: Count = Field(
        512, description="Maximum number of open connections. A new one then replaces the oldest idle one."
    )
    header_seconds: Count = Field(10, description="Seconds within which a request's headers must arrive.")
    header_kb: Count = Field(64, description="Maximum size of a request's headers.")
    body_seconds: Count = Field(
        20,
        description="Seconds within which a body must arrive; with a credential, each kilobyte adds one.",
    )
    sign_in_kb: Count = Field(32, description="Maximum size of a sign-in request.")
    webhook_kb: Count = Field(2_000, description="Maximum size of a request from a platform.")
    body_kb: Count = Field(
        16_000,
        description="Maximum size of any other request; uploads may exceed it by ten times `limits.file_mb`.",
    )

    def connection_limits(self) -> ConnectionLimits:
        """Return the connection limits."""
        return ConnectionLimits(
            total=self.connections,
            header_seconds=float(self.header_seconds),
            header_bytes=self.header_kb * KILOBYTE,
            body_seconds=float(self.body_seconds),
        )
