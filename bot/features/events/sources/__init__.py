"""Kinds of event sources, one module each: the format and the signature of their requests."""
