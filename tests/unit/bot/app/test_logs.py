"""Logging never raises, even if its stream or a value does."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from bot.app.logs import configure_logging
from bot.config import Config


class Broken(io.StringIO):
    """A stream that raises."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def write(self, _text: str) -> int:
        raise self._error


class Unprintable:
    """A value that can't be rendered."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("style", ["json", "console"])
@pytest.mark.parametrize(
    "stream", [Broken(OSError(28, "full")), Broken(BrokenPipeError()), Broken(RuntimeError("reentrant"))]
)
def test_a_broken_stream_raises_nothing(stream: io.StringIO, style: str) -> None:
    log = logger(stream, style)
    log.info("accepted", turns=[1])
    try:
        raise ValueError("bad")
    except ValueError:
        log.exception("failed")


def test_a_stream_that_was_closed_raises_nothing() -> None:
    stream = io.StringIO()
    log = logger(stream, "console")
    stream.close()
    log.info("accepted")


@pytest.mark.parametrize("style", ["json", "console"])
@pytest.mark.parametrize("value", ["\udcff name", "状态", "\x00", Unprintable()])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_no_value_loses_the_event(value: Any, style: str, encoding: str) -> None:
    raw = io.BytesIO()
    log = logger(io.TextIOWrapper(raw, encoding=encoding, write_through=True), style)
    log.info("accepted", name=value)
    assert b"accepted" in raw.getvalue()


def logger(stream: Any, style: str) -> Any:
    config = Config()
    logging = config.logging.model_copy(update={"format": style})
    configure_logging(config.model_copy(update={"logging": logging}), stream)
    structlog.configure(cache_logger_on_first_use=False)
    return structlog.get_logger()
