"""Tools that look into the web, one module for each service; `use:` names them.

How they are configured: docs/howto/add-web-tools.md.
"""
