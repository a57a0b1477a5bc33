"""Documents of people as Markdown: what is known of kinds, the readers, and the process that they run in.

The readers and `child` run in a process of their own with limits; they import neither configuration nor
pydantic, so that it starts quickly. `converter` is the side of the service.
"""
