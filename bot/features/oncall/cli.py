"""The check of on-call schedules by `roebot doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.cli.additions import CliAdditions

if TYPE_CHECKING:
    from bot.cli.doctor import Finding


def check_oncall(folder: Path) -> Iterator[Finding]:
    """Check the on-call schedules."""
    from bot.features.oncall.checks import check_home

    yield from check_home(folder)


ADDITIONS = CliAdditions(typer.Typer(), checks={"oncall": check_oncall})
