"""Matrix for Roebot. The service loads this module at every start, and the others only for an account."""

from importlib.resources import files

from bot.platforms.manifest import Platform
from roebot_matrix.account import MatrixAccount
from roebot_matrix.manifest import MANIFEST

PLATFORM = Platform(MANIFEST, MatrixAccount, files(__name__).joinpath("guide.md").read_text("utf-8"))
