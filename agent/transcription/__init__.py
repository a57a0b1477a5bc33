"""Transcription of recordings: the transcriber interface, the included transcribers, and their use."""
