"""Public test kit: fakes and emulators that stand in for what is outside the process."""
