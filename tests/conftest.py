"""The fixtures that all tests may use."""

import gc
import os
import signal
import tempfile

from hypothesis import HealthCheck, settings

from scripts.cli.loading import set_start_apart

# What is loaded from here on is there to the end: to look for garbage in it, again and again, takes
# a third of the time of most tests.
gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    set_start_apart()


# Where the tests themselves run in the background, or under nohup, these are ignored, and so they
# would be by all that they start. What is heard here, for nothing, is heard there, too.
for each in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(each) is signal.SIG_IGN:
        signal.signal(each, lambda *_: None)

# Servers of other tests and of this machine's user are none of a test's business.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="parley-state-")  # noqa: TID251

# How fast a machine is today is not what a test is about.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("unhurried", UNHURRIED)
settings.register_profile("long", UNHURRIED)
settings.load_profile("unhurried")

pytest_plugins = [
    "tests.fixtures.database",
    "tests.fixtures.broker",
    "tests.fixtures.places",
    "tests.fixtures.making",
    "tests.fixtures.hall",
    "tests.fixtures.logs",
    "tests.fixtures.changes",
    "tests.fixtures.fanout",
    "tests.fixtures.mail",
    "tests.fixtures.bouncer",
    "tests.fixtures.makers",
    "tests.fixtures.agreement",
    "tests.fixtures.app",
    "tests.fixtures.browser",
    "tests.fixtures.buckets",
    "tests.fixtures.clients",
    "tests.fixtures.directory",
    "tests.fixtures.examples",
    "tests.fixtures.directory_sign_in",
    "tests.fixtures.operators",
    "tests.fixtures.posting",
    "tests.fixtures.provider",
    "tests.fixtures.real_clients",
    "tests.fixtures.running",
    "tests.fixtures.saml_site",
    "tests.fixtures.visitors",
    "tests.fixtures.invitations",
]
