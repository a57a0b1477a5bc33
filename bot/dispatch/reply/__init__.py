"""The reply of a turn: its state, streaming and delivery."""
