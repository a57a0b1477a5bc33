"""What an agent remembers beyond a thread."""
