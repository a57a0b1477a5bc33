"""Test kit of Roebot: fakes and emulators that stand in for everything outside the process."""
