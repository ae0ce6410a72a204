"""How much room RabbitMQ has for our queues, as its management plugin says, if it is on."""

import base64
import http.client
import json
from typing import Any, Final
from urllib.parse import quote

import pika

MANAGEMENT_PORT: Final = 15672
SECONDS: Final = 3
QUEUES: Final = 150
"""A Parley has about a hundred, and those in which jobs wait."""
FILES: Final = 500
"""It takes about three files of the broker for each queue."""


def shortage(url: str, *, port: int = MANAGEMENT_PORT) -> list[str] | None:
    """What the broker has too little of, as sentences; None where its plugin does not answer."""
    parameters = pika.URLParameters(url)
    connection = http.client.HTTPConnection(parameters.host, port, timeout=SECONDS)
    try:
        nodes = _asked(connection, parameters, "/api/nodes")
        vhost = quote(parameters.virtual_host, safe="")
        limits = _asked(connection, parameters, f"/api/vhost-limits/{vhost}")
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    return [*_of_files(nodes), *_of_queues(limits)]


def _of_files(nodes: list[dict[str, Any]]) -> list[str]:
    return [
        f"RabbitMQ's node {node.get('name')} may open {node['fd_total']:,} files, of which"
        f" {node.get('fd_used', 0):,} are open: raise its limit (LimitNOFILE) to 65536."
        for node in nodes
        if node.get("fd_total") and node["fd_total"] - node.get("fd_used", 0) < FILES
    ]


def _of_queues(limits: list[dict[str, Any]]) -> list[str]:
    return [
        f"RabbitMQ's virtual host {limit.get('vhost')} may have {most:,} queues, and Parley needs"
        f" {QUEUES}: `rabbitmqctl clear_vhost_limits` ends that."
        for limit in limits
        if 0 <= (most := limit.get("value", {}).get("max-queues", -1)) < QUEUES
    ]


def _asked(
    connection: http.client.HTTPConnection, parameters: pika.URLParameters, path: str
) -> list[dict[str, Any]]:
    name = parameters.credentials.username, parameters.credentials.password
    token = base64.b64encode(":".join(name).encode()).decode()
    connection.request("GET", path, headers={"Authorization": f"Basic {token}"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != http.HTTPStatus.OK:
        raise ValueError(answer.status)
    found: list[dict[str, Any]] = json.loads(body)
    return found
