"""Entry point of `python -m roebot_testing.emulators.feishu`."""

import sys

from roebot_testing.emulators.cli import main

if __name__ == "__main__":
    sys.exit(main("feishu"))
