"""The fixtures that all tests may use."""

import gc
import os
import signal
import tempfile

from hypothesis import HealthCheck, settings

from scripts.cli.loading import set_start_apart

# What is loaded and collected is there to the end: to look for garbage in it, again and again,
# takes a third of the time of most tests.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    set_start_apart()


# Where the tests themselves run in the background, or under nohup, these are ignored, and so they
# would be by all that they start. What is heard here, for nothing, is heard there, too.
for each in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(each) is signal.SIG_IGN:
        signal.signal(each, lambda *_: None)

# Servers and data of other tests and of this machine's user are none of a test's business.
for variable in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
    os.environ[variable] = tempfile.mkdtemp(prefix="parley-home-")  # noqa: TID251

# How fast a machine is today is not what a test is about.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("unhurried", UNHURRIED)
settings.register_profile("long", UNHURRIED)
settings.load_profile("unhurried")

pytest_plugins = [
    "testkit.database",
    "testkit.passwords",
    "testkit.services.rabbitmq",
    "testkit.services.job_brokers",
    "testkit.stage",
    "testkit.realm_with_roles",
    "testkit.logs",
    "testkit.message_changes",
    "testkit.message_fanout",
    "testkit.services.mail_server",
    "testkit.services.push_bouncer",
    "testkit.services.push_services",
    "testkit.services.browser_push",
    "testkit.oracles.agreement",
    "testkit.clients.server",
    "testkit.clients.browser",
    "testkit.services.s3",
    "testkit.clients.api",
    "testkit.services.ldap",
    "testkit.examples",
    "testkit.clients.ldap_server",
    "testkit.clients.operator_server",
    "testkit.clients.mailing_server",
    "testkit.services.oauth_provider",
    "testkit.clients.pypi_clients",
    "testkit.clients.parley_run",
    "testkit.services.saml_provider",
    "testkit.clients.page_client",
    "testkit.clients.invitations",
]
