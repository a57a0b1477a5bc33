"""Options shared by several commands of `roebot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[Path | None, typer.Option(readable=False, help="Data directory (default: .roebot).")]
File = Annotated[Path | None, typer.Option("--config", help="Configuration file (default: config.yaml).")]
