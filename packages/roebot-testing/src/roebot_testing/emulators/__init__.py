"""Wire-level emulators of the chat platforms: the real SDKs connect to them over loopback.

Each keeps a platform's state in memory, enforces its limits, can be told to misbehave, and writes a
transcript of every call, so that a test judges what people would have seen, not what the bot believes.
"""
