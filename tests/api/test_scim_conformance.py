"""The checks of `scim2-tester` for SCIM servers, over HTTP."""

import asyncio
import re
from collections.abc import Iterable
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import pytest
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server, filling
from scim2_tester.filling import generate_random_value

from server.domain.access import OWNER
from testkit.clients.scim import admit_directory

pytestmark = pytest.mark.asyncio

FAILED = {Status.ERROR, Status.CRITICAL, Status.DEVIATION}

OURS = re.compile(
    # An account has these in any case: without them it stays as it is, and others are added.
    r".*did not remove attribute '(active|displayName|emails|roles)'"
    r"|.*unexpected value for 'emails'.*example\.com.*"
    # It has one role, which is the primary one.
    r"|.*unexpected value for 'roles'.*"
    # A member is shown by the name of the account.
    r"|Attribute 'members' was not (added|replaced) or has unexpected value.*",
    re.DOTALL,
)
"""Where the organization decides, and not the directory."""


async def test_the_service_conforms(log_in, make, server, monkeypatch):
    owner = await log_in(await make.user("Olga", role=OWNER))
    directory = await admit_directory(owner)
    await owner.post("/realm/scim/closures")

    def over_http(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Send the request of the checks to the server."""
        body = environ["wsgi.input"].read()
        names = {"CONTENT_TYPE": "Content-Type"} | {
            key: key.removeprefix("HTTP_").replace("_", "-").title()
            for key in environ
            if key.startswith("HTTP_") and key != "HTTP_CONTENT_LENGTH"
        }
        headers = {name: environ[key] for key, name in names.items() if key in environ}
        path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
        connection = HTTPConnection("127.0.0.1", server.port)
        connection.request(
            environ["REQUEST_METHOD"],
            f"{path}?{query}" if query else path,
            body or None,
            {**headers, "Host": owner.host, "Authorization": f"Bearer {directory.token}"},
        )
        response = connection.getresponse()
        start_response(f"{response.status} {response.reason}", response.getheaders())
        content = response.read()
        connection.close()
        return [content]

    def value(context: Any, path: Any, **more: Any) -> Any:
        """An address as `userName`: an account needs one."""
        if str(path).lower().endswith("username"):
            return f"{uuid4()}@example.com"
        return generate_random_value(context, path, **more)

    monkeypatch.setattr(filling, "generate_random_value", value)
    client = WSGISCIMClient(over_http, base_url=f"http://{owner.host}/scim/v2")
    results = await asyncio.to_thread(check_server, client)
    wrong = {
        f"{each.title} {each.resource_type}: {each.reason}"
        for each in results
        if each.status in FAILED and not OURS.fullmatch(each.reason or "")
    }
    assert not wrong, "\n".join(sorted(wrong))
    assert len([each for each in results if each.status is Status.SUCCESS]) > 50
