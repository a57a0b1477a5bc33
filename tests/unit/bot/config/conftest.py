"""Configuration files in a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.config import ConfigErrors, LoadedConfig, load_config


@dataclass
class Folder:
    """A folder in which config.yaml is written, loaded and refused."""

    path: Path

    @property
    def file(self) -> Path:
        return self.path / "config.yaml"

    def write(self, text: str) -> Path:
        self.file.write_bytes(text.encode("utf-8"))
        return self.file

    def load(self, text: str, env: Mapping[str, str] | None = None) -> LoadedConfig:
        self.write(text)
        return load_config(None, env or {}, self.path)

    def refuse(self, text: str, env: Mapping[str, str] | None = None) -> list[str]:
        """The lines of the error."""
        with pytest.raises(ConfigErrors) as caught:
            self.load(text, env)
        return str(caught.value).splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    inner = tmp_path / "inner"
    inner.mkdir()
    return Folder(inner)
