"""Transcripts of recordings: the interface of transcribers, those that come with Roebot, and their use."""
