"""Web tools, one module per service, for `use:` of the configuration; see docs/howto/add-web-tools.md."""
