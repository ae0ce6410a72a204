"""`parley status`: the state of the installation."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import sentences
from scripts.cli.options import read_settings, server_options
from scripts.cli.running import as_it_runs, beside_running
from scripts.cli.tables import Cell, show
from server.runtime.formatting import counted, size, span

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from server.settings import Settings
    from server.telemetry.overview import Overview, ProcessView

ANSWER_SECONDS = 5
LOOK_SECONDS = 20

Line = tuple[str, str]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@server_options
@click.pass_context
def status(
    context: click.Context, /, *, as_json: bool, config: Path | None, **overrides: object
) -> None:
    """Show the state of the installation.

    The server, its database, all processes, the leaders, the queues.

    The exit status is 1 if the server does not respond.
    """
    with sentences():
        from server.settings import names_data_directory

        place = {name: overrides.get(name) for name in ("host", "port")}
        settings = read_settings(config, **overrides)
        is_named = names_data_directory(config=config, overrides=overrides)
        settings = as_it_runs(beside_running(settings, is_named=is_named), **place)
        answers, sentence = _server(settings)
        found = _look(settings)
    if as_json:
        _show_json(found, answers=answers, sentence=sentence)
    else:
        _show_text(found, sentence)
    if not answers:
        context.exit(1)


def _server(settings: "Settings") -> tuple[bool, str]:
    import http.client

    from server.runtime.sockets import LOOPBACK_OF

    host = LOOPBACK_OF.get(settings.host, settings.host)
    connection = _connection(settings, host)
    try:
        connection.request("GET", "/api/v1/server_settings")
        answered = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or "no answer"
        return False, f"does not answer on {host}, port {settings.port} ({reason})"
    finally:
        connection.close()
    return True, f"answers on {host}, port {settings.port} (status {answered})"


def _connection(settings: "Settings", host: str) -> "HTTPConnection":
    import http.client
    import ssl

    if settings.certificate is None:
        return http.client.HTTPConnection(host, settings.port, timeout=ANSWER_SECONDS)
    # The certificate is for the name that people use, which need not lead here.
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, settings.port, timeout=ANSWER_SECONDS, context=tls)


def _look(settings: "Settings") -> "Overview":
    import asyncio

    from scripts.cli.database import with_database
    from server.telemetry.overview import Overview
    from storage.database import DatabaseUnavailableError
    from storage.embedded import running_url

    url = settings.database_url or running_url(settings.data_directory)
    if url is None:
        where = settings.data_directory
        return Overview(problems=[f"The private Postgres in {where} is not running."])
    try:
        return asyncio.run(_overview(with_database(settings, url)))
    except DatabaseUnavailableError as lost:
        return Overview(problems=[f"The database does not answer: {lost}."])


async def _overview(settings: "Settings") -> "Overview":
    from queue_processors.registry import queue_names
    from scripts.cli.queues import open_desk
    from server.telemetry.overview import look

    async with open_desk(settings) as (desk, database):
        return await look(database, desk, queue_names(), patience_seconds=LOOK_SECONDS)


def _show_json(found: "Overview", *, answers: bool, sentence: str) -> None:
    import msgspec

    server = {"server": {"answers": answers, "where": sentence}}
    body = msgspec.json.encode(server | msgspec.to_builtins(found))
    click.echo(msgspec.json.format(body))


def _show_text(found: "Overview", sentence: str) -> None:
    from msgspec.structs import asdict

    for name, text in _lines(found, sentence):
        click.echo(f"{name:<12} {text}")
    if found.processes:
        click.echo("")
        show([_process(each) for each in found.processes], as_json=False, nothing="")
    if found.queues:
        click.echo("")
        show([asdict(each) for each in found.queues], as_json=False, nothing="")


def _lines(found: "Overview", sentence: str) -> Iterator[Line]:
    yield "version", found.version
    yield "server", sentence
    if found.database is not None:
        facts = found.database
        use = f"{facts.connections} of {facts.max_connections} connections"
        yield "database", f"Postgres {facts.version}, {size(facts.size_bytes)}, {use}"
    if found.migrations is not None:
        yield "migrations", _migrations(found)
    if found.contents is not None:
        held = found.contents
        parts = (
            counted(held.realms, "organization", "organizations"),
            counted(held.users, "person", "people"),
            counted(held.messages, "message", "messages"),
            counted(held.event_queues, "event queue", "event queues"),
        )
        yield "contents", ", ".join(parts)
    for shard in found.shards:
        if shard.leader is not None and shard.lag_seconds is not None:
            lag = span(shard.lag_seconds)
            yield "shipper", f"{shard.leader}, leads, {lag} behind the log"
        else:
            yield "shipper", "no leader"
    for problem in found.problems:
        yield "problem", problem


def _migrations(found: "Overview") -> str:
    known = found.migrations
    assert known is not None
    if known.pending:
        lacking = counted(len(known.pending), "migration", "migrations")
        return f"lacks {lacking}: run `parley migrate`"
    text = f"{known.applied} applied, the latest {known.latest}"
    if known.after_deploy:
        return f"{text}; {len(known.after_deploy)} more once this version runs everywhere"
    return text


def _process(process: "ProcessView") -> dict[str, Cell]:
    state = process.state
    in_use = state.get("database_connections_size", 0) - state.get("database_connections_free", 0)
    return {
        "process": f"{process.host}, {process.pid}",
        "does": process.does,
        "version": process.version,
        "since": process.started_at,
        "last_sign_seconds": process.seen_seconds,
        "event_queues": f"{state.get('event_queues', 0):.0f}" if process.serves else None,
        "log_lag_seconds": state.get("log_lag_seconds") if process.serves else None,
        "pool": f"{in_use:.0f} of {state.get('database_connections_size', 0):.0f}",
    }
