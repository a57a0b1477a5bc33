"""The HTTP edge of the runtime: routes, bodies, security, streams."""
