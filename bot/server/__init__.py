"""The service's HTTP port: management API and web console."""
