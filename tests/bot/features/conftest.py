"""What tests of a feature stand on: a store on each database, and a dispatcher's bench."""

from tests.component.dispatch.conftest import at
from tests.contract.store.conftest import db

__all__ = ["at", "db"]
