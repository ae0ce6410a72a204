"""Pages that show the mails of a folder, for the machine itself: whoever is on it may read them."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest

from server.mail.folder import KEPT, MailFolder
from server.runtime.pages import PLAIN, Page, PageServer
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
"""The mail's own HTML runs nothing and fetches nothing. Its links open beside it."""
_HEAD: Final = "<head>"
_LINKS_OPEN_BESIDE: Final = f'{_HEAD}<base target="_blank">'


class FolderPages:
    """Answers `/`, and for each mail `/NAME` and `/NAME/html`."""

    def __init__(self, folder: MailFolder) -> None:
        self._folder = folder

    async def answer(self, request: HTTPServerRequest) -> Page:
        """The page that is asked for."""
        return await asyncio.to_thread(self._answer, request)

    def _answer(self, request: HTTPServerRequest) -> Page:
        if request.method not in {"GET", "HEAD"}:
            return self._sorry(HTTPStatus.METHOD_NOT_ALLOWED)
        if not _is_this_machine(request.host):
            return self._sorry(HTTPStatus.FORBIDDEN)
        if request.path == "/":
            return self._page("folder_list.html", mails=self._folder.newest_first(), most=KEPT)
        found = _NAME.fullmatch(request.path)
        mail = None if found is None else self._folder.named(found[1])
        if found is None or mail is None:
            return self._sorry(HTTPStatus.NOT_FOUND)
        if found[2]:
            alone = {**_HEADERS, "Content-Security-Policy": _SANDBOX}
            html = mail.html.replace(_HEAD, _LINKS_OPEN_BESIDE, 1)
            return Page(HTTPStatus.OK, html.encode(), headers=alone)
        return self._page("folder_mail.html", mail=mail)

    def _page(self, template: str, **values: object) -> Page:
        html = templates_of("server.mail").get_template(template).render(values)
        return Page(HTTPStatus.OK, html.encode(), headers=_HEADERS)

    def _sorry(self, status: HTTPStatus) -> Page:
        return Page(status, f"{status.phrase}\n".encode(), PLAIN, _HEADERS)


def _is_this_machine(host: str) -> bool:
    """Whether the browser asked for this machine, and not for a name that led it here."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def folder_pages(folder: MailFolder, wanted_port: int) -> AsyncIterator[str]:
    """The address of the pages, which are there while the block runs."""
    sockets = first_free(HOST, wanted_port)
    server = HTTPServer(PageServer(FolderPages(folder).answer), max_body_size=0)
    server.add_sockets(sockets)
    folder.shown_at = f"http://{HOST}:{port_of(sockets)}/"
    try:
        yield folder.shown_at
    finally:
        folder.shown_at = ""
        server.stop()
        await server.close_all_connections()
