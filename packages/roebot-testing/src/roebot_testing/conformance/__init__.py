"""One suite for every adapter: subclass `AdapterConformance` and give it a fixture `platform`.

    class TestMine(AdapterConformance):
        @pytest.fixture
        async def platform(self):
            async with MyDriver() as driver:
                yield driver

See `driver` for the driver's interface. A case applies if the adapter implements its optional protocols and
the driver has its abilities; other cases are skipped with the reason, and counted at the end of the run if
the root conftest.py imports `pytest_terminal_summary` from here. The package needs pytest and pytest-asyncio;
the service does not import it.
"""

from __future__ import annotations

import pytest

_TOPICS = (
    "choices",
    "contents",
    "describing",
    "files",
    "health",
    "lifecycle",
    "limits",
    "mentions",
    "progress",
    "receiving",
    "sending",
    "splitting",
    "streaming",
    "texts",
    "webhooks",
)
pytest.register_assert_rewrite(*(f"{__name__}.{topic}" for topic in (*_TOPICS, "bench")))

from roebot_testing.conformance.choices import Choices  # noqa: E402
from roebot_testing.conformance.contents import Contents  # noqa: E402
from roebot_testing.conformance.describing import Describing  # noqa: E402
from roebot_testing.conformance.driver import (  # noqa: E402
    ANN,
    ANN_IN_TEAM,
    BEN,
    BEN_IN_TEAM,
    Ability,
    Driver,
    Person,
    PlatformDriver,
    Seen,
    SuitePerson,
    Where,
)
from roebot_testing.conformance.files import FileCases  # noqa: E402
from roebot_testing.conformance.health import HealthCases  # noqa: E402
from roebot_testing.conformance.lifecycle import LifeCycle  # noqa: E402
from roebot_testing.conformance.limits import LimitCases  # noqa: E402
from roebot_testing.conformance.mentions import Mentions  # noqa: E402
from roebot_testing.conformance.needs import (  # noqa: E402
    implements,
    optional_protocols,
    pytest_terminal_summary,
)
from roebot_testing.conformance.progress import Progress  # noqa: E402
from roebot_testing.conformance.receiving import Receiving  # noqa: E402
from roebot_testing.conformance.sending import Sending  # noqa: E402
from roebot_testing.conformance.splitting import Splitting  # noqa: E402
from roebot_testing.conformance.streaming import Streaming  # noqa: E402
from roebot_testing.conformance.texts import TextCases  # noqa: E402
from roebot_testing.conformance.webhooks import Webhooks  # noqa: E402

__all__ = [
    "ANN",
    "ANN_IN_TEAM",
    "BEN",
    "BEN_IN_TEAM",
    "Ability",
    "AdapterConformance",
    "Driver",
    "Person",
    "PlatformDriver",
    "Seen",
    "SuitePerson",
    "Where",
    "implements",
    "optional_protocols",
    "pytest_terminal_summary",
]


class AdapterConformance(
    LifeCycle,
    Receiving,
    Contents,
    Describing,
    Sending,
    Streaming,
    Progress,
    Splitting,
    FileCases,
    Choices,
    Mentions,
    LimitCases,
    HealthCases,
    TextCases,
    Webhooks,
):
    """Every case."""
