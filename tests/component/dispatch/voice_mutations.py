"""Guards of voice messages and their transcripts, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

DISPATCH, DISPATCHED = "bot/features/voice/hooks.py", "tests/component/dispatch/test_voice.py"
SERVICE, ROUTES = "agent/transcription/service.py", "tests/contract/agent/test_transcript_routes.py"
OPENAI, CALLED = "agent/transcription/openai.py", "tests/contract/agent/test_transcribers.py"
RUNNING, RECORDS = "agent/transcription/running.py", "agent/uploads/recordings.py"
STORED = "bot/features/voice/store.py"

VOICE_MUTATIONS = (
    Mutation(
        "mistaken words",
        "only voice messages are transcribed",
        DISPATCH,
        "if attachment.kind is not AttachmentKind.VOICE:",
        "if False:",
        f"{DISPATCHED}::test_only_voice_is_transcribed",
    ),
    Mutation(
        "mistaken words",
        "a forwarded recording is not the forwarder's words",
        STORED,
        "if one.quotation < 0:",
        "if True:",
        f"{DISPATCHED}::test_a_forwarded_voice_is_part_of_the_forward",
    ),
    Mutation(
        "mistaken words",
        "a recording of a blocked person is not transcribed",
        "bot/dispatch/run/agent_message.py",
        "message = self._blocked.hide_quoted(stored)",
        "message = stored",
        f"{DISPATCHED}::test_a_blocked_persons_voice_is_not_transcribed",
    ),
    Mutation(
        "mistaken words",
        "the platform's own transcript is enough",
        DISPATCH,
        "elif known[attachment.filename]:",
        "elif False:",
        f"{DISPATCHED}::test_the_platforms_own_transcript_is_enough",
    ),
    Mutation(
        "mistaken words",
        "what is said decides no approval",
        "bot/store/inbox.py",
        "if approval is None or not message.text.strip():",
        "if approval is None:",
        "tests/contract/store/test_quotations.py::test_what_the_author_made_decides_no_approval",
    ),
    Mutation(
        "forged messages",
        "the reason for a missing transcript does not pass for a message",
        DISPATCH,
        'return escape_text(self.texts("transcript_missing", name=name, reason=reason))',
        'return self.texts("transcript_missing", name=name, reason=reason)',
        f"{DISPATCHED}::test_reasons_can_not_pass_for_messages",
    ),
    Mutation(
        "lost transcripts",
        "an edit of the caption keeps the transcript",
        "bot/store/quotations.py",
        "after = (*change.quotations, *kept)",
        "after = (*change.quotations,)",
        f"{DISPATCHED}::test_an_edit_of_the_caption_keeps_the_transcript",
    ),
    Mutation(
        "lost transcripts",
        "a transcript is stored with its message before a run reads it",
        DISPATCH,
        "await self.db.transact(store_transcripts, self.uploader.turn, stored, spoken)",
        "pass",
        f"{DISPATCHED}::test_a_restart_and_a_retry_transcribe_nothing_again",
    ),
    Mutation(
        "lost transcripts",
        "a restart of the agent knows what was transcribed",
        SERVICE,
        "        if known is not None:\n            return known\n",
        "",
        f"{ROUTES}::test_a_restart_knows_it",
    ),
    Mutation(
        "lost transcripts",
        "two requests for a recording share the work",
        SERVICE,
        "work = self._running.get(key)",
        "work = None",
        f"{ROUTES}::test_an_upload_is_transcribed_once",
    ),
    Mutation(
        "undeleted words",
        "a message that was deleted meanwhile gets no transcript",
        STORED,
        "WHERE id = :id AND deleted = 0 AND attachments <> ''",
        "WHERE id = :id",
        f"{DISPATCHED}::test_a_message_deleted_meanwhile_stays_deleted",
    ),
    Mutation(
        "undeleted words",
        "an upload that was deleted meanwhile leaves no transcript",
        RECORDS,
        "        if upload.is_file():\n"
        "            put_private(self._path(thread_id, name), record.model_dump_json())\n"
        "        if not upload.is_file():\n"
        "            self.remove(thread_id, name)\n",
        "        put_private(self._path(thread_id, name), record.model_dump_json())\n",
        f"{ROUTES}::test_an_upload_deleted_meanwhile_leaves_no_transcript",
    ),
    Mutation(
        "mistaken words",
        "another file of the same name has a transcript of its own",
        RECORDS,
        "return record.text if record.digest == digest else None",
        "return record.text",
        f"{ROUTES}::test_a_file_that_takes_the_place_of_another_is_transcribed",
    ),
    Mutation(
        "stolen secrets",
        "the key for OpenAI is sent to OpenAI only",
        OPENAI,
        "key = api_key or (_NO_KEY if base_url else None)",
        "key = api_key",
        f"{CALLED}::test_openai_needs_a_key_and_another_address_does_not",
    ),
    Mutation(
        "stolen secrets",
        "OpenAI's address is not taken from the environment",
        OPENAI,
        "base_url=base_url or ADDRESS,",
        "base_url=base_url,",
        f"{CALLED}::test_openais_key_goes_to_openai_only",
    ),
    Mutation(
        "stolen secrets",
        "a transcriber that fails is named without its text",
        RUNNING,
        'raise RecordingRefused(f"the transcriber failed ({type(error).__name__})") from None',
        'raise RecordingRefused(f"the transcriber failed ({error})") from None',
        f"{CALLED}::test_a_broken_class_is_named_without_its_text",
    ),
    Mutation(
        "endless work",
        "a turn waits for all its transcripts together",
        DISPATCH,
        "        self.seconds_left -= self.uploader.clock.now() - began\n",
        "",
        f"{DISPATCHED}::test_a_turn_waits_for_its_transcripts_once",
    ),
    Mutation(
        "endless work",
        "few recordings are transcribed at a time",
        RUNNING,
        "async with asyncio.timeout(seconds), room:",
        "async with asyncio.timeout(seconds):",
        f"{CALLED}::test_two_are_transcribed_at_a_time",
    ),
    Mutation(
        "endless work",
        "a long transcript is cut",
        RUNNING,
        'return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"',
        "return text",
        f"{CALLED}::test_a_long_transcript_is_cut",
    ),
    Mutation(
        "endless work",
        "a local transcriber does not decode a long recording to its end",
        "agent/transcription/faster_whisper.py",
        "if seconds > MAX_MINUTES * 60 + _ROUNDING:",
        "if False:",
        "tests/contract/agent/test_faster_whisper.py::test_a_long_recording_is_not_decoded_to_its_end",
    ),
)
