"""A request of the tables, as a client makes it."""

import re
from typing import Any, Final
from urllib.parse import urlencode

from server.api.endpoint import Endpoint, FileUpload, RawPayload, ResponseKind
from server.api.routes import ROUTES
from server.api.tus import CONTENT_TYPE
from testkit.clients.api import Answer, Client
from testkit.images import picture

FILE: Final = ("file.png", picture())
TUS: Final = {
    "Tus-Resumable": "1.0.0",
    "Upload-Length": "5",
    "Upload-Offset": "0",
    "Content-Type": CONTENT_TYPE,
}


def name_of(route: Endpoint[Any]) -> str:
    return f"{route.method} {route.path}"


_ROUTES: Final = {name_of(route): route for route in ROUTES}
_OF_NO_CONTRACT: Final = (
    "/emoji_data",
    "/openapi.json",
    "/email_notifications/unsubscribe/{token}",
)


async def ask(client: Client, endpoint: str, given: dict[str, Any]) -> Answer:
    """The answer to the request with these values, those of the path among them."""
    method, path = endpoint.split(" ")
    in_path = re.findall(r"\{(\w+)\}", path)
    fields = {name: value for name, value in given.items() if name not in in_path}
    place = path.format(**{name: given[name] for name in in_path})
    route = _ROUTES[endpoint]
    if route.path.startswith("/tus"):
        return await client.send(method, place, body=b"", headers=TUS)
    if route.at_root:
        return await client.fetch(place, method=method)
    if isinstance(route.body, FileUpload) and not route.body.is_optional:
        texts = {name: str(value).lower() for name, value in fields.items()}
        return await client.upload(place, fields=texts, file=FILE)
    if path in _OF_NO_CONTRACT:
        return await client.send(method, place, body=None if method == "GET" else b"")
    if isinstance(route.body, RawPayload) or route.response is ResponseKind.TEXT:
        query = urlencode(fields)
        body = None if method == "GET" else b'{"text": "x"}'
        return await client.send(method, f"{place}?{query}", body=body)
    return await client.call(method, place, **fields)
