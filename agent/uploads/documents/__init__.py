"""Convert uploaded documents to Markdown.

The readers and `child` run in a child process with limits; they import neither configuration nor pydantic, so
that it starts quickly. `converter` starts this process.
"""
