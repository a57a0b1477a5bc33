"""Conversion of uploaded documents to Markdown.

The readers and `child` run in a child process with limits; they import neither configuration nor pydantic, so
that it starts quickly. `converter` starts this process.

A hostile file can exhaust memory or time, or exploit a parser in C (lxml): it then finds no secrets in the
environment, but has the service's file permissions; bubblewrap would be the next step. markitdown reads more
formats with the same libraries, but adds pandas and onnxruntime and returns sheets of any size in one piece.
An upload never fails because a document is unreadable: the file stays, with a note.
"""
