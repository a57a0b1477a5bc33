"""Run the copy as `python -m agent.runtime.migration`."""

import sys

from agent.runtime.migration.command import main

raise SystemExit(main(sys.argv[1:]))
