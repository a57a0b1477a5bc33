"""The configuration is read before anything heavy is loaded, and by the agent without the bot."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("agent.config.loader", {"bot", "langchain", "langchain_core", "langgraph", "fastapi", "sqlalchemy"}),
        ("bot.config", {"langchain", "langchain_core", "langgraph", "fastapi", "sqlalchemy", "telegram"}),
    ],
)
def test_what_importing_it_brings(module: str, absent: set[str]) -> None:
    code = f"import {module}, sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"pydantic", "yaml"} <= loaded
    assert not loaded & absent
