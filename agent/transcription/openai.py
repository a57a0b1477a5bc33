"""Transcription through OpenAI's audio API, or a compatible service.

Schema and formats: `POST /audio/transcriptions` in https://github.com/openai/openai-openapi (`flac, mp3, mp4,
mpeg, mpga, m4a, ogg, wav, or webm`). Largest file: 25 MB, https://platform.openai.com/docs/guides/speech-to-text
"""

from __future__ import annotations

from typing import Any

from openai import AsyncOpenAI, OpenAIError
from openai.types.audio import Transcription

from agent.errors import ModelUnavailable, RecordingRefused
from agent.models.errors import describe_error, make_failure
from agent.models.failure_texts import Category
from agent.models.http import per_loop_client
from agent.transcription.interface import Recording, SpokenText

ADDRESS = "https://api.openai.com/v1"
"""OpenAI's address. OPENAI_BASE_URL is ignored, so that OpenAI's key is never sent elsewhere."""
DEFAULT_MODEL = "gpt-transcribe"
MAX_BYTES = 26_214_400
"""Largest request body in bytes; OpenAI answers with status 413 above it."""
_FORM_BYTES = 10_000
"""Room for the other fields of the form."""
_NO_KEY = "no-key"


class OpenAITranscriber:
    """Transcribes with a model of OpenAI, or of the service at `base_url`.

    `language` (ISO 639-1) and `prompt` (names and terms that are likely to occur) improve the result.
    `base_url` defaults to OpenAI's address, and the key for that address to OPENAI_API_KEY. Any other service
    gets only the key that is configured for it.
    """

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        api_key: str | None = None,
        language: str | None = None,
        prompt: str | None = None,
    ) -> None:
        self._model = model
        self._options: dict[str, Any] = {
            key: value for key, value in (("language", language), ("prompt", prompt)) if value
        }
        key = api_key or (_NO_KEY if base_url else None)
        try:
            # The caller retries.
            self._client = AsyncOpenAI(
                api_key=key,
                base_url=base_url or ADDRESS,
                max_retries=0,
                http_client=per_loop_client("openai"),
            )
        except OpenAIError as error:
            raise ModelUnavailable(
                "transcriber has no api_key, and OPENAI_API_KEY is not set. Set one of them."
            ) from error

    @property
    def address(self) -> str:
        return str(self._client.base_url)

    async def transcribe(self, recording: Recording, /) -> SpokenText:
        """Return the transcript. Raises RecordingRefused if it is too large, or ModelCallFailed."""
        if len(recording.content) > MAX_BYTES - _FORM_BYTES:
            raise RecordingRefused(_too_large(len(recording.content)))
        try:
            answer = await self._client.audio.transcriptions.create(
                file=(recording.name, recording.content),
                model=self._model,
                response_format="json",
                **self._options,
            )
        except (OpenAIError, ValueError) as error:
            if getattr(error, "status_code", None) == 413:
                raise RecordingRefused(_too_large(len(recording.content))) from error
            raise describe_error(error, model=self._model).to_error() from error
        return self._read(answer)

    def _read(self, answer: object) -> SpokenText:
        """Parse a response; the package does not validate the fields of a compatible service."""
        text = getattr(answer, "text", None)
        if not isinstance(answer, Transcription) or not isinstance(text, str):
            raise make_failure(Category.MALFORMED, model=self._model).to_error()
        seconds = getattr(answer.usage, "seconds", None)
        return SpokenText(text, float(seconds) if isinstance(seconds, int | float) else None)


def _too_large(size: int) -> str:
    return (
        f"the recording is too large for the transcription service ({size / 1_000_000:.0f} MB; "
        f"at most {MAX_BYTES / 1_000_000:.0f} MB)"
    )
