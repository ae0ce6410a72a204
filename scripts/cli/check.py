"""`parley check`: find errors of configuration, and say how to fix them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.check_groups import unknown_groups
from scripts.cli.options import read_settings, server_options
from scripts.cli.running import as_it_runs
from server.runtime.formatting import counted

if TYPE_CHECKING:
    from server.settings import Settings

LOW_SPACE_BYTES = 1024**3

RENEW = timedelta(days=14)
"""The remaining lifetime of a certificate below which its renewal is overdue."""

LOOPBACK = {"127.0.0.1", "::1", "localhost"}

MAIL_SECONDS = 5
PUSH_SECONDS = 10


class CheckStatus(Enum):
    GOOD = "ok"
    DOUBTFUL = "note"
    BAD = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, with a sentence about it."""

    verdict: CheckStatus
    about: str
    sentence: str


@click.command()
@server_options
@click.pass_context
def check(context: click.Context, /, *, config: Path | None, **overrides: object) -> None:
    """Find errors of configuration, and say how to fix them.

    Checks the settings, certificates, data directory, database, broker, mail server, push service
    and LDAP directory. Changes nothing. The exit status is 1 if there are errors.
    """
    verdicts = set()
    for finding in _findings(config, overrides):
        click.echo(f"{finding.verdict.value:<6} {finding.about:<10} {finding.sentence}")
        verdicts.add(finding.verdict)
    if CheckStatus.BAD in verdicts:
        context.exit(1)


def _findings(config: Path | None, overrides: dict[str, object]) -> Iterator[Finding]:
    from server.settings import SettingsError, unused_variables

    for name in unused_variables():
        yield Finding(CheckStatus.DOUBTFUL, "settings", f"{name} is set, and nothing reads it.")
    try:
        settings = read_settings(config, **overrides)
    except SettingsError as error:
        for problem in error.problems:
            yield Finding(CheckStatus.BAD, "settings", problem)
        return
    yield from _about_mail(settings)
    yield from _about_pushes(settings)
    yield from _about_directory(settings)
    place = {name: overrides.get(name) for name in ("host", "port")}
    yield from _about_settings(as_it_runs(settings, **place))
    yield from _about_hosts(settings)
    yield from _about_certificates(settings)
    yield from _about_operator(settings)
    if settings.database_url is None:
        yield from _about_data_directory(settings)
    else:
        yield from _about_database(settings, settings.database_url)
    if settings.amqp_url is not None:
        yield _about_broker(settings.amqp_url)
        yield from _about_room_of_broker(settings.amqp_url)


def _about_settings(settings: "Settings") -> Iterator[Finding]:
    yield Finding(
        CheckStatus.GOOD, "settings", f"People reach the server at {settings.public_url}."
    )
    public = settings.host not in LOOPBACK or settings.external_url is not None
    if settings.development and public:
        yield Finding(
            CheckStatus.BAD,
            "settings",
            "PARLEY_DEVELOPMENT lets every client sign in as any user, and others can reach this"
            " server: turn it off.",
        )
    if not settings.rate_limits and public:
        yield Finding(
            CheckStatus.DOUBTFUL,
            "settings",
            "PARLEY_RATE_LIMITS is off: passwords may be guessed at any rate.",
        )
    if settings.external_url is not None and not settings.trusted_proxies:
        yield Finding(
            CheckStatus.DOUBTFUL,
            "settings",
            "PARLEY_EXTERNAL_URL is set and PARLEY_TRUSTED_PROXIES is not: behind a proxy, all"
            " people would share the limits of its address.",
        )


def _about_hosts(settings: "Settings") -> Iterator[Finding]:
    from server.runtime.sockets import ListenError, open_sockets

    try:
        sockets = open_sockets(settings.host, 0)  # whatever its port: the server may be running
    except ListenError as error:
        yield Finding(CheckStatus.BAD, "settings", str(error))
    else:
        for opened in sockets:
            opened.close()


def _about_certificates(settings: "Settings") -> Iterator[Finding]:
    from server.domain.clock import SystemClock
    from server.runtime.sockets import ListenError
    from server.settings import certificates

    shown = (
        ("https", certificates.https, settings.certificate),
        ("mail in", certificates.mail_in, settings.mail_in_certificate),
    )
    for about, opened, path in shown:
        try:
            tls = opened(settings)
            if tls is None or path is None:
                continue
            until = certificates.good_until(tls, path)
        except ListenError as error:
            yield Finding(CheckStatus.BAD, about, str(error))
            continue
        sentence = f"The certificate and its key can be used until {until:%Y-%m-%d}"
        if until - SystemClock().now() < RENEW:
            yield Finding(CheckStatus.DOUBTFUL, about, f"{sentence}: renew it.")
        else:
            yield Finding(CheckStatus.GOOD, about, f"{sentence}.")


def _about_operator(settings: "Settings") -> Iterator[Finding]:
    if settings.operator_password is None:
        return
    if settings.metrics_port is None:
        yield Finding(
            CheckStatus.DOUBTFUL,
            "operator",
            "PARLEY_OPERATOR_PASSWORD is set and PARLEY_METRICS_PORT is not: there are no pages.",
        )
    elif settings.metrics_host not in LOOPBACK:
        yield Finding(
            CheckStatus.DOUBTFUL,
            "operator",
            f"The operator's pages are open on {settings.metrics_host}: put a proxy with HTTPS in"
            " front, or the password crosses the network as it is.",
        )


def _about_data_directory(settings: "Settings") -> Iterator[Finding]:
    import shutil

    from storage.embedded import running_url

    data = settings.data_directory
    if url := running_url(data):
        yield Finding(CheckStatus.GOOD, "data", f"The private Postgres in {data} is running.")
        yield from _about_database(settings, url)
        return
    place = next(path for path in (data, *data.absolute().parents) if path.exists())
    if not _takes_files(place):
        yield Finding(
            CheckStatus.BAD, "data", f"{data} cannot be written: choose another with PARLEY_DATA."
        )
        return
    yield Finding(
        CheckStatus.GOOD, "data", f"`parley run` keeps its data in {data}, where nothing runs now."
    )
    free = shutil.disk_usage(place).free
    if free < LOW_SPACE_BYTES:
        megabytes = free // 1024**2
        yield Finding(CheckStatus.DOUBTFUL, "data", f"Only {megabytes} MB are free for {data}.")


def _takes_files(place: Path) -> bool:
    """Return whether a file can be created there. Permissions alone do not show it for root."""
    import tempfile

    try:
        with tempfile.TemporaryDirectory(prefix=".parley-check-", dir=place):
            return True
    except OSError:
        return False


def _about_database(settings: "Settings", url: str) -> Iterator[Finding]:
    yield from _about_hosts_of_database(url)
    from storage.health import durability, refusal
    from storage.migrate import MigrationError, connected, pending
    from storage.rights import missing_right
    from storage.trial import refusal_of_serving

    try:
        with connected(url) as connection:
            durable, lacked = durability(connection), missing_right(connection)
        lacking = pending(url)
    except MigrationError as error:
        yield Finding(CheckStatus.BAD, "database", str(error))
        return
    yield Finding(CheckStatus.GOOD, "database", f"Postgres {durable.version} answers.")
    for sentence in (refusal(durable), lacked):
        if sentence is not None:
            yield Finding(CheckStatus.BAD, "database", sentence)
    if not lacking:
        yield from _about_addresses(url)
        for sentence in unknown_groups(settings, url):
            yield Finding(CheckStatus.DOUBTFUL, "directory", sentence)
    if not durable.synchronous_commit:
        yield Finding(
            CheckStatus.DOUBTFUL,
            "database",
            "synchronous_commit is off for this database: a crash of the machine can lose the"
            " last messages that were answered.",
        )
    if sentence := refusal_of_serving(url):
        yield Finding(CheckStatus.BAD, "database", sentence)
    if lacking:
        yield Finding(
            CheckStatus.BAD,
            "database",
            f"The database lacks {counted(len(lacking), 'migration', 'migrations')}:"
            " run `parley migrate`.",
        )


def _about_hosts_of_database(url: str) -> Iterator[Finding]:
    """Report which database host is the primary, and any former primary that has come back."""
    from storage import lineage
    from storage.reasons import reason_of
    from storage.refusals import older_database

    found = lineage.survey_of(url)
    leading = lineage.leading(found)
    for host in found:
        own = host.lineage
        if host.error is not None:
            sentence = f"The database at {host.name} does not answer: {reason_of(host.error)}."
            yield Finding(CheckStatus.DOUBTFUL, "database", sentence)
        elif host.is_standby:
            yield Finding(
                CheckStatus.GOOD, "database", f"The database at {host.name} is a standby."
            )
        elif own is not None and leading is not None and own.is_older_than(leading):
            sentence = str(older_database(host.name, own, leading))
            yield Finding(CheckStatus.BAD, "database", sentence)
        else:
            yield Finding(CheckStatus.GOOD, "database", f"The database at {host.name} leads.")


def _about_addresses(url: str) -> Iterator[Finding]:
    from storage.migrate import connected
    from storage.shared_addresses import shared_addresses

    with connected(url) as connection:
        found = shared_addresses(connection)
    if found:
        several = counted(len(found), "address belongs", "addresses belong")
        yield Finding(
            CheckStatus.DOUBTFUL,
            "accounts",
            f"{several} to more than one account, written differently"
            f" ({', '.join(found[0].emails)}): give all but one of them another address."
            " Until then each account is found by its address exactly as it is stored.",
        )


def _about_mail(settings: "Settings") -> Iterator[Finding]:
    import asyncio

    if settings.smtp_host is None:
        yield Finding(
            CheckStatus.DOUBTFUL, "mail", "No mail is sent: PARLEY_SMTP_HOST names no mail server."
        )
        return
    from server.mail.mailer import MailNotTakenNowError
    from server.mail.smtp import SmtpMailer, server_of

    if settings.smtp_security == "none" and settings.smtp_host not in LOOPBACK:
        yield Finding(
            CheckStatus.DOUBTFUL,
            "mail",
            "PARLEY_SMTP_SECURITY is none: mail and password cross the network as they are.",
        )
    server = replace(server_of(settings), timeout_seconds=MAIL_SECONDS)
    place = f"{server.host}:{server.port}"
    try:
        asyncio.run(SmtpMailer(server).check())
    except MailNotTakenNowError as error:
        yield Finding(CheckStatus.BAD, "mail", f"The mail server {place} takes nothing: {error}.")
    else:
        sentence = f"The mail server {place} answers; mail comes from {settings.mail_address}."
        yield Finding(CheckStatus.GOOD, "mail", sentence)


def _about_pushes(settings: "Settings") -> Iterator[Finding]:
    import asyncio

    names = (settings.push_bouncer_url, settings.fcm_credentials, settings.apns_key)
    if not any(names):
        sentence = "Phones get no notifications: PARLEY_PUSH_BOUNCER_URL names no bouncer."
        yield Finding(CheckStatus.DOUBTFUL, "push", sentence)
        return
    from server.domain.clock import SystemClock
    from server.push.opening import open_push_service
    from server.push.service import PushError
    from server.settings import SettingsError

    async def look() -> "frozenset[str] | None":
        async with open_push_service(settings, SystemClock()) as service:
            if service is None:
                return None
            async with asyncio.timeout(PUSH_SECONDS):
                await service.check()
            return service.kinds

    if settings.push_bouncer_url is not None and any(names[1:]):
        sentence = "Keys for phones are not used: PARLEY_PUSH_BOUNCER_URL names a bouncer."
        yield Finding(CheckStatus.DOUBTFUL, "push", sentence)
    try:
        kinds = asyncio.run(look())
    except SettingsError as error:
        yield from (Finding(CheckStatus.BAD, "push", problem) for problem in error.problems)
    except (PushError, TimeoutError) as error:
        reason = str(error) or "it gives no answer"
        yield Finding(CheckStatus.BAD, "push", f"No phone can be reached: {reason}.")
    else:
        yield _reached(kinds)


def _reached(kinds: frozenset[str] | None) -> Finding:
    if kinds is None:
        sentence = "The bouncer does not know this server: `parley push credentials` is the start."
        return Finding(CheckStatus.BAD, "push", sentence)
    lacking = {"fcm": "Android", "apns": "Apple"}.keys() - kinds
    if lacking:
        name = {"fcm": "Android", "apns": "Apple"}[lacking.pop()]
        return Finding(CheckStatus.DOUBTFUL, "push", f"There is no key for phones of {name}.")
    return Finding(CheckStatus.GOOD, "push", "The push bouncer accepts this server.")


def _about_directory(settings: "Settings") -> Iterator[Finding]:
    import asyncio

    if settings.ldap_url is None:
        return
    from server.identity.errors import DirectoryAwayError
    from server.identity.ldap import Ldap

    if not settings.ldap_starttls and "ldap://" in settings.ldap_url:
        yield Finding(
            CheckStatus.DOUBTFUL,
            "directory",
            "PARLEY_LDAP_STARTTLS is off: people's passwords cross the network as they are.",
        )
    with closing(Ldap(settings)) as ldap:
        try:
            asyncio.run(ldap.check())
        except DirectoryAwayError as error:
            sentence = f"The directory cannot be asked: {error.reason}."
            yield Finding(CheckStatus.BAD, "directory", sentence)
        else:
            sentence = "The directory responds: test a user by `parley ldap check NAME`."
            yield Finding(CheckStatus.GOOD, "directory", sentence)


def _about_broker(url: str) -> Finding:
    from server.messaging.job_broker import BrokerUnavailableError
    from server.messaging.rabbitmq_rights import missing_right, place

    try:
        lacked = missing_right(url)
    except BrokerUnavailableError as error:
        return Finding(CheckStatus.BAD, "broker", f"RabbitMQ does not answer {error}.")
    if lacked is not None:
        return Finding(CheckStatus.BAD, "broker", lacked)
    return Finding(CheckStatus.GOOD, "broker", f"RabbitMQ answers at {place(url)}.")


def _about_room_of_broker(url: str) -> Iterator[Finding]:
    from server.messaging.rabbitmq_limits import shortage

    found = shortage(url)
    if found is None:
        sentence = (
            "RabbitMQ's limits of files and queues are not known, for its management plugin does"
            " not answer: `rabbitmqctl status` shows them, and a Parley needs 500 files."
        )
        yield Finding(CheckStatus.DOUBTFUL, "broker", sentence)
    for sentence in found or ():
        yield Finding(CheckStatus.BAD, "broker", sentence)
