"""Pages that show the mails of a folder, to users of this machine only."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from server.mail.folder import KEPT, MailFolder
from server.operator.serving import SAFE_METHODS, PageRequest, serving_pages
from server.runtime.pages import PLAIN, Page
from server.runtime.sockets import first_free, port_of
from server.runtime.templates import templates_of

HOST: Final = "127.0.0.1"
_NAME: Final = re.compile(r"/([0-9a-f]{16})(/html)?")
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_SANDBOX: Final = (
    "sandbox allow-popups allow-popups-to-escape-sandbox;"
    " default-src 'none'; style-src 'unsafe-inline'; img-src data:"
)
"""The mail's HTML runs no scripts and loads nothing. Its links open in a new tab."""
_HEAD: Final = "<head>"
_HEAD_WITH_TARGET: Final = f'{_HEAD}<base target="_blank">'


class FolderPages:
    """Answer `/`, and for each mail `/NAME` and `/NAME/html`."""

    def __init__(self, folder: MailFolder) -> None:
        self._folder = folder

    async def answer(self, request: PageRequest) -> Page:
        """Render the requested page."""
        return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: PageRequest) -> Page:
        if request.method not in SAFE_METHODS:
            return self._error(HTTPStatus.METHOD_NOT_ALLOWED)
        if not _is_this_machine(request.host):
            return self._error(HTTPStatus.FORBIDDEN)
        if request.path == "/":
            return self._page("mail_folder_list.html", mails=self._folder.newest_first(), most=KEPT)
        found = _NAME.fullmatch(request.path)
        mail = None if found is None else self._folder.named(found[1])
        if found is None or mail is None:
            return self._error(HTTPStatus.NOT_FOUND)
        if found[2]:
            alone = {**_HEADERS, "Content-Security-Policy": _SANDBOX}
            html = mail.html.replace(_HEAD, _HEAD_WITH_TARGET, 1)
            return Page(HTTPStatus.OK, html.encode(), headers=alone)
        return self._page("mail_folder_mail.html", mail=mail)

    def _page(self, template: str, **values: object) -> Page:
        html = templates_of("server.operator").get_template(template).render(values)
        return Page(HTTPStatus.OK, html.encode(), headers=_HEADERS)

    def _error(self, status: HTTPStatus) -> Page:
        return Page(status, f"{status.phrase}\n".encode(), PLAIN, _HEADERS)


def _is_this_machine(host: str) -> bool:
    """Whether the Host header is a loopback address: other names may be rebound to it by DNS."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def folder_pages(folder: MailFolder, wanted_port: int) -> AsyncIterator[str]:
    """Serve the pages while the block runs; their address."""
    sockets = first_free(HOST, wanted_port)
    async with serving_pages(FolderPages(folder).answer, sockets):
        folder.shown_at = f"http://{HOST}:{port_of(sockets)}/"
        try:
            yield folder.shown_at
        finally:
            folder.shown_at = ""
