"""The fixtures that all tests may use."""

from hypothesis import settings

settings.register_profile("long")

pytest_plugins = [
    "tests.fixtures.database",
    "tests.fixtures.broker",
    "tests.fixtures.places",
    "tests.fixtures.making",
    "tests.fixtures.hall",
    "tests.fixtures.agreement",
    "tests.fixtures.app",
    "tests.fixtures.clients",
]
