"""Transcripts of recordings: the interface of transcribers, the included ones, and their use."""
