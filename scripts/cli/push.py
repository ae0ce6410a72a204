"""`parley push`: register this server with a push bouncer, or remove it."""

import asyncio
import secrets
import string
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import place_options, settings_beside
from scripts.cli.session import with_app

if TYPE_CHECKING:
    from server.app import App
    from server.push.bouncer import Bouncer
    from server.settings import Settings

Result = TypeVar("Result")

KEY_LENGTH = 64
_ALPHABET = string.ascii_letters + string.digits


@click.group()
def push() -> None:
    """Register this server with a push bouncer, which delivers for servers without keys."""


@push.command()
def credentials() -> None:
    """Print a new id and key for this server, as settings. Changes nothing."""
    click.echo(f"PARLEY_PUSH_SERVER_ID={uuid.uuid4()}")
    click.echo(f"PARLEY_PUSH_SERVER_KEY={_new_key()}")


@push.command()
@click.option("--contact-email", required=True, help="Whom the bouncer's people may write to.")
@click.option(
    "--agree-to-terms",
    is_flag=True,
    help="You have read the terms of the bouncer's operator, and agree to them.",
)
@click.option("--rotate-key", is_flag=True, help="Give the server another key there, and print it.")
@place_options
def register(
    *,
    contact_email: str,
    agree_to_terms: bool,
    rotate_key: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """Register this server and its organizations; repeat it after each change of these.

    The bouncer learns the server's URL, the contact address, and of each organization its name,
    URL, type, creation date and ways to sign in.
    """
    if not agree_to_terms:
        raise Failure("Read the terms of the bouncer, and say so with --agree-to-terms.")
    with sentences():
        settings = settings_beside(config, data)
        new_key = _new_key() if rotate_key else None

        async def enroll(bouncer: "Bouncer") -> bool:
            return await bouncer.enroll(
                hostname=urlsplit(settings.public_url).netloc,
                contact_email=contact_email,
                server_key=settings.push_server_key or "",
                new_key=new_key,
            )

        if new_key is not None:
            # Once it is asked, the bouncer may want the key even if its answer never arrives.
            click.echo("Keep both keys until this is done. The new one is:")
            click.echo(f"PARLEY_PUSH_SERVER_KEY={new_key}")
        is_new = _ask(settings, enroll)
        if new_key is not None:
            click.echo("The bouncer wants the new key from now on.")
            return
        with _told():
            with_app(settings, _introduce)
    click.echo("The bouncer knows this server now." if is_new else "The bouncer knows of it.")


@push.command()
@place_options
def deregister(*, config: Path | None, data: Path | None) -> None:
    """Remove this server from the bouncer: no notifications are delivered through it any more."""
    with sentences():
        _ask(settings_beside(config, data), lambda bouncer: bouncer.withdraw())
    click.echo("The bouncer knows this server no more.")


async def _introduce(app: "App") -> None:
    from queue_processors.push_keeper import PushKeeper

    await PushKeeper(app).settle()


def _ask(settings: "Settings", work: "Callable[[Bouncer], Awaitable[Result]]") -> Result:
    """Return the bouncer's response."""
    from server.push.opening import open_bouncer

    async def run() -> Result:
        async with open_bouncer(settings) as bouncer:
            if bouncer is None:
                raise Failure(
                    "Set PARLEY_PUSH_BOUNCER_URL, PARLEY_PUSH_SERVER_ID and"
                    " PARLEY_PUSH_SERVER_KEY first: `parley push credentials` makes the last two."
                )
            return await work(bouncer)

    with _told():
        return asyncio.run(run())


@contextmanager
def _told() -> Iterator[None]:
    from server.push.service import PushError

    try:
        yield
    except PushError as error:
        raise Failure(f"The bouncer does not do it: {error}.") from error


def _new_key() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(KEY_LENGTH))
