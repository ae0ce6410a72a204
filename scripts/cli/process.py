"""A server process: the API on its sockets, and workers within it, until a signal stops it."""

import asyncio
import os
import resource
import socket
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

from queue_processors.main import run as run_processors
from queue_processors.registry import AnyProcessor, queue_names
from queue_processors.shipper import UNREADABLE
from scripts.cli.heap import keep_returning_free_pages, return_large_blocks
from scripts.cli.loading import set_start_apart
from server.app import App, open_app
from server.mail.folder import MailFolder
from server.main import serving
from server.messaging.background import running
from server.operator.port import metrics_port, metrics_sockets
from server.runtime.service_manager import ServiceNotifier
from server.runtime.siblings import Sibling
from server.runtime.sockets import port_of
from server.runtime.stop_signals import StopSignals
from server.runtime.watchdog import LoopWatchdog
from server.settings import Settings, certificates

Prepare = Callable[[App], Awaitable[None]]
Ready = Callable[[str | None], None]

MOST_FILES: Final = 1_048_576
"""The maximum of open files to request where the system has no limit."""


async def serve_until_stopped(
    settings: Settings,
    sockets: Sequence[socket.socket],
    *,
    processors: Sequence[AnyProcessor] = (),
    with_shipper: bool = False,
    takes_mail: bool = False,
    lifeline: int | None = None,
    sibling: Sibling | None = None,
    beside: Sequence[Coroutine[Any, Any, None]] = (),
    prepare: Prepare | None = None,
    ready: Ready | None = None,
    mail: MailFolder | None = None,
    notifier: ServiceNotifier,
) -> None:
    """Serve until SIGTERM, SIGINT, or the end of `lifeline`; then finish open requests.

    `prepare` runs before the first request is accepted, once all checks have passed. `ready` is
    called when requests are accepted, with the URL of the pages for the folder `mail`, if there is
    one.
    """
    open_many_files()
    return_large_blocks()
    takes_mail = takes_mail and settings.mail_in_port is not None
    async with StopSignals() as stop, AsyncExitStack() as stack:
        for each in beside:
            stack.callback(each.close)  # where it has not begun
        certificates.https(settings)
        for_metrics = _closed_by(stack, metrics_sockets(settings))
        for_mail = _closed_by(stack, _sockets_of_mail(settings)) if takes_mail else []
        app = await stack.enter_async_context(open_app(settings, mailer=mail, sibling=sibling))
        if prepare is not None:
            await prepare(app)
        work = run_processors(
            app, processors, with_shipper=with_shipper, serves=True, takes_mail=takes_mail
        )
        await stack.enter_async_context(running(work, *_upkeep(app, notifier), *beside))
        share = None if sibling is None else sibling.share
        api = await stack.enter_async_context(serving(app, sockets, share=share))
        await stack.enter_async_context(
            metrics_port(
                app,
                _told_of(processors, with_shipper),
                all_queues=queue_names(),
                opened=for_metrics,
                is_draining=lambda: api.is_draining,
            )
        )
        emails = None if mail is None else await _show_folder(stack, mail, settings.port + 1)
        if takes_mail:
            await _take_mail(stack, app, for_mail)
        set_start_apart()
        if ready is not None:
            ready(emails)
        notifier.ready(f"Serves port {port_of(sockets)}.")
        await _first_of(stop.wait(), lifeline)
        notifier.stopping()


async def _show_folder(stack: AsyncExitStack, mail: MailFolder, port: int) -> str:
    """Serve the pages of the folder until the stack ends; return their URL."""
    from server.operator.mail_folder import folder_pages  # where it is wanted

    return await stack.enter_async_context(folder_pages(mail, port))


async def _take_mail(stack: AsyncExitStack, app: App, sockets: Sequence[socket.socket]) -> None:
    """Receive email on the sockets until the stack ends."""
    from server.mail_in import taking_mail  # most servers start without

    await stack.enter_async_context(taking_mail(app, sockets))


async def work_until_stopped(
    settings: Settings,
    processors: Sequence[AnyProcessor],
    *,
    with_shipper: bool,
    notifier: ServiceNotifier,
) -> None:
    """Run queue processors until SIGTERM or SIGINT; then finish jobs in progress."""
    return_large_blocks()
    async with (
        StopSignals() as stop,
        open_app(settings) as app,
        metrics_port(app, _told_of(processors, with_shipper), all_queues=queue_names()),
        running(
            run_processors(app, processors, with_shipper=with_shipper),
            *_upkeep(app, notifier),
        ),
    ):
        set_start_apart()
        notifier.ready(f"Works on {len(processors)} queues.")
        await stop.wait()
        notifier.stopping()


async def take_mail_until_stopped(
    settings: Settings, sockets: Sequence[socket.socket], notifier: ServiceNotifier
) -> None:
    """Receive email until SIGTERM or SIGINT; then finish open sessions.

    On the sockets, if there are some, else on the port of the settings.
    """
    from server.mail_in import taking_mail

    async with (
        StopSignals() as stop,
        open_app(settings) as app,
        metrics_port(app, all_queues=queue_names()),
        taking_mail(app, sockets) as port,
        running(
            run_processors(app, (), with_shipper=False, takes_mail=True),
            *_upkeep(app, notifier),
        ),
    ):
        set_start_apart()
        notifier.ready(f"Takes mail on port {port}.")
        await stop.wait()
        notifier.stopping()


def _upkeep(app: App, notifier: ServiceNotifier) -> list[Coroutine[Any, Any, None]]:
    """What runs in each process."""
    watchdog = LoopWatchdog(app.metrics.loop_blocked)
    return [watchdog.run(), notifier.beat(), keep_returning_free_pages()]


def open_many_files() -> None:
    """Raise the process's limit of open files to the maximum: each connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _sockets_of_mail(settings: Settings) -> list[socket.socket]:
    from server.mail_in import mail_sockets  # most servers start without

    return mail_sockets(settings)


def _closed_by(stack: AsyncExitStack, sockets: list[socket.socket]) -> list[socket.socket]:
    """Close the sockets when the stack ends, unless they are closed already."""
    for each in sockets:
        stack.callback(each.close)
    return sockets


def _told_of(processors: Sequence[AnyProcessor], with_shipper: bool) -> list[str]:  # noqa: FBT001
    """Return the queues for which this process exports metrics."""
    names = [processor.queue for processor in processors]
    return [*names, UNREADABLE] if with_shipper else names


async def _first_of(signalled: Coroutine[Any, Any, None], lifeline: int | None) -> None:
    """Wait for a signal to stop, or for the end of the parent process."""
    waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(signalled)]
    if lifeline is not None:
        waits.append(asyncio.ensure_future(_end_of(lifeline)))
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def _end_of(lifeline: int) -> None:
    """Wait until the other end of the pipe is closed: the parent process has died."""
    os.set_blocking(lifeline, False)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(lifeline, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(lifeline)
