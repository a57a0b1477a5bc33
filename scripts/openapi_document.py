"""Print the schemas of the service's OpenAPI document, from which the console's types are made."""

from __future__ import annotations

import json

from scripts.reference.routes import load_openapi

if __name__ == "__main__":
    print(json.dumps({**load_openapi(), "paths": {}}))
