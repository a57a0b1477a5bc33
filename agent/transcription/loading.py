"""Creation of the configured transcriber."""

from __future__ import annotations

from agent.config.transcriber import TranscriberConfig
from agent.core.import_string import ImportStringError, check_arguments, import_object
from agent.errors import ModelUnavailable, TranscriberUnavailable
from agent.transcription.interface import Transcriber


def load_transcriber(config: TranscriberConfig) -> Transcriber | None:
    """Import the class and create it with the other keys; None if none is configured. Blocking.

    Raises TranscriberUnavailable, which names the problem but no setting's value.
    """
    if config.use is None:
        return None
    settings = config.extra_arguments()
    try:
        found = import_object(config.use)
        if problem := check_arguments(found, settings):
            raise TranscriberUnavailable(f"The settings of {config.use} are invalid: {problem}.")
        made = found(**settings)
    except (ImportStringError, ModelUnavailable) as error:
        raise TranscriberUnavailable(f"The transcriber can't be loaded: {error}") from error
    except TranscriberUnavailable:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise TranscriberUnavailable(f"The settings of {config.use} are invalid ({kind}).") from error
    if not isinstance(made, Transcriber):
        raise TranscriberUnavailable(f"{config.use} is not a transcriber: it has no method transcribe.")
    return made
