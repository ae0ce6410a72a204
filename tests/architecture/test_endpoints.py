"""Endpoints: each says who may call it, is declared once, and is called by a test."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import pytest

from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request
from server.api.examples import examples
from server.api.params import Params, describe, readers
from server.api.routes import ROUTES, Router, RoutesError
from server.domain.addresses import API_PREFIX
from server.main import serving
from testkit.oracles import contract
from testkit.oracles.openapi import document, pattern_of
from testkit.sources import ROOT, Texts

METHODS = {
    "get": "GET",
    "fetch": "GET",
    "post": "POST",
    "upload": "POST",
    "patch": "PATCH",
    "delete": "DELETE",
    "put": "PUT",
}


async def nothing(request: Request, params: NoParams) -> Empty:
    return Empty()


def endpoint(path: str = "/x", access: Any = Access.USER, method: str = "GET") -> Endpoint[Any]:
    return Endpoint(method, path, cast("Access", access), NoParams, nothing)


def name_of(route: Endpoint[Any]) -> str:
    return f"{route.method} {route.path}"


each_route = pytest.mark.parametrize("route", ROUTES, ids=name_of)


@pytest.mark.asyncio
async def test_a_server_with_an_endpoint_without_access_does_not_start(server):
    with pytest.raises(RoutesError, match="GET /x does not say who may call it"):
        async with serving(server.app, [], [endpoint(access=None)]):
            pass


@pytest.mark.parametrize("path", ["/x", "/x/{user_id}", "/x/{name}/y"])
def test_an_endpoint_that_is_declared_twice_is_refused(path):
    Router([endpoint(path), endpoint(path, method="POST")])
    with pytest.raises(RoutesError, match="declared twice"):
        Router([endpoint(path), endpoint(path)])


def test_an_integer_is_tried_before_text():
    router = Router([endpoint("/x/{name}"), endpoint("/x/{user_id}"), endpoint("/x/me")])
    found = [router.find("GET", f"{API_PREFIX}/x/{key}") for key in ("me", "7", "seven", "%37a")]
    assert [(endpoint.path, from_path) for endpoint, from_path in found] == [
        ("/x/me", {}),
        ("/x/{user_id}", {"user_id": "7"}),
        ("/x/{name}", {"name": "seven"}),
        ("/x/{name}", {"name": "7a"}),
    ]


@each_route
def test_what_is_in_the_path_is_a_parameter(route):
    assert {*re.findall(r"\{(\w+)\}", route.path)} <= {*route.params.model_fields}


@each_route
def test_every_endpoint_is_called_by_a_test_of_the_api(route):
    pattern = re.compile(pattern_of(route.path) + r"(\?.*)?")
    calls = {path for method, path in called() if method in (route.method, "?")}
    assert any(pattern.fullmatch(path) for path in calls), name_of(route)


@lru_cache(maxsize=1)
def called() -> frozenset[tuple[str, str]]:
    """(method, path) of the calls in tests/api; `?` for a method that is not written there."""
    found: set[tuple[str, str]] = set()
    for file in sorted((ROOT / "tests" / "api").glob("test_*.py")):
        tree = ast.parse(file.read_text())
        texts = Texts(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                found.update(_call(node, node.func.attr, texts))
    return frozenset(found)


def _call(node: ast.Call, name: str, texts: Texts) -> Iterator[tuple[str, str]]:
    arguments = [texts.of(argument, unknown="1") for argument in node.args]
    if name in METHODS and arguments and arguments[0]:
        yield METHODS[name], arguments[0]
    elif name in {"call", "send"} and len(arguments) > 1 and arguments[1]:
        yield arguments[0] or "?", arguments[1]
    elif name == "register":
        yield "POST", "/register"


# -- the texts of the API's documentation


def is_sentence(text: str) -> bool:
    return text[:1] not in {"", " "} and text[-1:] in {".", "!", "?"}


@each_route
def test_every_endpoint_says_what_it_does(route):
    """`summary=` and `description=` stand in the declaration of the endpoint."""
    assert 0 < len(route.summary) <= 80, f"{name_of(route)} has no summary"
    assert "\n" not in route.summary
    assert not is_sentence(route.summary), f"{route.summary}: a headline, without a full stop"
    assert not route.description or is_sentence(route.description), route.description


@each_route
def test_every_parameter_is_described(route):
    """By the docstring below its field, or where it is listed (setting_descriptions.py)."""
    described, parts = describe(route.params, "{model}")
    texts = {each.name: each.description for each in described}
    for part, schema in parts.items():
        for name, value in schema.get("properties", {}).items():
            texts[f"{part}.{name}"] = value.get("description", "")
    missing = [name for name, text in texts.items() if not is_sentence(text)]
    assert not missing, f"{name_of(route)} does not describe {', '.join(missing)} in sentences"


def test_every_operation_has_an_example():
    """Make the request in tests/api/examples, and run scripts/renew-examples."""
    paths = document()["paths"]
    described = {f"{m.upper()} {path}" for path, operations in paths.items() for m in operations}
    assert sorted(described ^ examples().keys()) == []


# -- against a contract, where there is one


@each_route
def test_parameters_are_those_of_the_contract(route):
    row = rows().get((route.method, shape(route.path)))
    if row is None:
        return
    known = {name: reader for reader in readers(route.params) for name in reader.names}
    for param in row.get("params", []):
        if not wanted(param) or param["in"] in {"path", "multipart"}:
            continue
        reader = known.get(param["name"])
        assert reader is not None, f"{name_of(route)} does not know {param['name']}"
        if param.get("type") == "string" and param["in"].startswith("json-in"):
            assert reader.may_be_bare, f"{param['name']} comes bare and as JSON"


def test_all_endpoints_of_the_announced_level_are_there():
    missing = contract.missing_routes((route.method, route.full_path) for route in ROUTES)
    found = [rows()[method, shape(path)] for method, path in map(str.split, missing)]
    assert [row["path"] for row in found if row.get("since_level", 0) <= contract.LEVEL] == []


def rows() -> dict[tuple[str, str], dict[str, Any]]:
    endpoints = contract.table("endpoints").get("endpoints", [])
    return {(row["method"], shape(row["path"])): row for row in endpoints}


def shape(path: str) -> str:
    return re.sub(r"\{\w+\}", "{}", path)


def wanted(param: dict[str, Any]) -> bool:
    """Whether servers of the announced level have the parameter."""
    since, until = param.get("since_level", 0), param.get("until_level", contract.LEVEL)
    return bool(since <= contract.LEVEL <= until) and not param.get("deprecated", False)


def test_every_parameter_model_is_used():
    used = {route.params for route in ROUTES}

    def below(kind: type[Params]) -> set[type[Params]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    ours = {kind for kind in below(Params) if kind.__module__.startswith("server.")}
    bases = {base for kind in used for base in kind.__mro__}
    assert ours - bases == set()
