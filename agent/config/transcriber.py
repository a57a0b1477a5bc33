"""Configuration section for transcription."""

from __future__ import annotations

from pydantic import Field

from agent.config.types import ImportString, Number, OpenSection

MAX_SECONDS = 300


class TranscriberConfig(OpenSection):
    """The transcriber of voice messages. Further keys belong to its class."""

    use: ImportString | None = Field(
        None,
        description="Class of the transcriber, as package.module:Class, such as "
        "agent.transcription.openai:OpenAITranscriber; null: voice messages are files without a transcript.",
    )
    timeout_seconds: Number = Field(
        60.0, gt=0, le=MAX_SECONDS, description="Time limit of a transcript in seconds, including retries."
    )
