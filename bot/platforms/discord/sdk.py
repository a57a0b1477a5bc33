"""The one place where the SDK is loaded: its voice part brings a deprecated module of Python's along."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "'audioop' is deprecated", DeprecationWarning)
    import discord
    import discord.gateway
    import discord.http

__all__ = ["discord"]
