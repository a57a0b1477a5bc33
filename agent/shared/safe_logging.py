"""Logging that never raises, even if the disk is full or a value can't be rendered."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog
from structlog.typing import Processor


def configure_safe_logging(steps: Sequence[Processor], level: int, output: TextIO) -> None:
    """Write events of at least this level to `output`. The last step renders the line."""
    structlog.configure(
        processors=[_render_safely(steps, output.encoding or "utf-8")],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _SafeLogger(output),
        cache_logger_on_first_use=True,
    )


def _render_safely(steps: Sequence[Processor], encoding: str) -> Processor:
    """Return a processor that always returns a line that can be encoded, even if a step raises."""

    def render(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
        name, line = event.get("event"), cast(Any, event)
        try:
            for step in steps:
                line = step(logger, method, line)
        except Exception:  # noqa: BLE001 - a value may raise anything
            line = f"{method} {name}: its values could not be rendered"
        return str(line).encode(encoding, "backslashreplace").decode(encoding)

    return render


class _SafeLogger(structlog.PrintLogger):
    """Prints lines, and drops those that can't be written."""

    def msg(self, message: str) -> None:
        with suppress(Exception):
            super().msg(message)

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg
