"""The list of licences and the bill of materials name each package of an installation."""

import json
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner

from scripts.cli.main import cli
from testkit.clients.web_build import write_build


def printed(client: Path, *arguments: str, status: int = 0) -> str:
    settings = {"PARLEY_WEB_CLIENT": str(client), "PARLEY_DATA": str(client)}
    done = CliRunner().invoke(cli, arguments, env=settings)
    assert done.exit_code == status, done.output
    return done.output


BASE = "http://cyclonedx.org/schema/"


def schema(name: str) -> dict[str, Any]:
    """A published schema, under the name by which the others refer to it."""
    file = f"{name}.SNAPSHOT.schema.json"
    found = json.loads((resources.files("cyclonedx.schema") / "_res" / file).read_text())
    return {**found, "$id": BASE + file}


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft7Validator:
    others = [(each["$id"], each) for each in map(schema, ("spdx", "jsf-0.82"))]
    return jsonschema_rs.Draft7Validator(schema("bom-1.6"), registry=jsonschema_rs.Registry(others))


def test_they_name_what_is_installed_and_what_the_client_brings(
    tmp_path: Path, validator: jsonschema_rs.Draft7Validator
):
    write_build(tmp_path)
    document = json.loads(printed(tmp_path, "sbom"))
    rows = json.loads(printed(tmp_path, "licences", "--json"))

    validator.validate(document)
    assert document["serialNumber"] == json.loads(printed(tmp_path, "sbom"))["serialNumber"]
    listed = {each["purl"]: each for each in document["components"]}
    assert listed["pkg:npm/%40example/vendor@1.2.0"]["licenses"] == [{"expression": "MIT"}]
    assert f"pkg:pypi/psycopg-pool@{metadata.version('psycopg-pool')}" in listed
    installed = {each.name for each in metadata.distributions()} - {"parley"}
    assert {row["package"] for row in rows} == installed | {"@example/vendor"}
    named = {row["package"]: row["licence"] for row in rows}
    assert named["psycopg"] == "LGPL-3.0-only"
    assert named["tornado"] == "Apache-2.0"
    assert "unknown" not in {named[each] for each in ("pyromark", "segno", "google-re2")}


def test_a_client_without_the_list_is_refused(tmp_path: Path):
    (write_build(tmp_path) / ".vite" / "licenses.json").unlink()
    assert "build it again" in printed(tmp_path, "licences", status=1)
