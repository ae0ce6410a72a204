"""A directory that talks SCIM to an organization."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from testkit.clients.api import Answer, Client

USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User"
ENTERPRISE_SCHEMA = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
GROUP_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error"


@dataclass(frozen=True, slots=True)
class Directory:
    """A client with a token: `client` says at which server and organization."""

    client: Client
    token: str | None
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        given = {"Content-Type": "application/scim+json", "Accept": "application/scim+json"}
        if self.token is not None:
            given["Authorization"] = f"Bearer {self.token}"
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.client.send(
            method,
            path,
            body=None if body is None else content,
            headers={**given, **self.headers, **(headers or {})},
            prefix="/scim/v2",
        )

    async def call(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """Send a request that gets this status; return the body of the response."""
        answer = await self.send(method, path, body)
        assert answer.status == status, answer.content
        if not answer.content:
            assert status == 204
            return None
        assert answer.headers["Content-Type"] == "application/scim+json"
        return answer.body

    async def found(self, path: str) -> list[dict[str, Any]]:
        """The resources of a list."""
        body = await self.call("GET", path)
        assert body["totalResults"] == len(body.get("Resources", []))
        return list(body.get("Resources", []))

    async def patch(self, path: str, *operations: Any, status: int = 200) -> Any:
        body = {"schemas": [PATCH_SCHEMA], "Operations": list(operations)}
        return await self.call("PATCH", path, body, status=status)

    async def refused(
        self, method: str, path: str, body: Any = None, *, status: int, kind: str | None = None
    ) -> str:
        """Send a request that gets this SCIM error; return its text."""
        error = await self.call(method, path, body, status=status)
        assert error["schemas"] == [ERROR_SCHEMA]
        assert (error["status"], error.get("scimType")) == (str(status), kind), error
        return str(error["detail"])


async def admit_directory(owner: Client, name: str = "Our directory") -> Directory:
    """A directory with a new token, which the owner has created."""
    return Directory(owner, (await owner.post("/realm/scim/tokens", name=name))["token"])
