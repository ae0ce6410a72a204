"""`parley licences` and `parley sbom`: what this installation is made of."""

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from scripts.cli.failures import sentences
from scripts.cli.options import place_options, read_settings
from scripts.cli.tables import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.cli.inventory import Component

NAMESPACE: Final = uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")
"""Of names that are URLs (RFC 9562)."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@place_options
def licences(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List all installed packages with their licences.

    Those of Python's environment, and those inside the browser client. `unknown`: the package
    declares none.
    """
    rows = [
        {
            "package": each.name,
            "version": each.version,
            "from": each.ecosystem,
            "licence": each.licence or "unknown",
        }
        for each in _installed(config, data)
    ]
    show(rows, as_json=as_json, nothing="There are no packages.")


@click.command()
@place_options
def sbom(*, config: Path | None, data: Path | None) -> None:
    """Print a software bill of materials (CycloneDX 1.6, JSON).

    The same installation has the same one.
    """
    from server.runtime.version import VERSION

    click.echo(json.dumps(document(VERSION, _installed(config, data)), indent=2))


def document(version: str, components: "Sequence[Component]") -> dict[str, Any]:
    """Return the document of a release with these components."""
    purl = f"pkg:pypi/parley@{version}"
    listed = [_described(each) for each in components]
    serial = uuid.uuid5(NAMESPACE, "\n".join([purl, *(each.purl for each in components)]))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": purl,
                "name": "parley",
                "version": version,
                "purl": purl,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": listed,
    }


def _described(component: "Component") -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": "library",
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
        "purl": component.purl,
    }
    if component.licence is not None:
        named = {"license": {"name": component.licence}}
        expressed = {"expression": component.licence}
        described["licenses"] = [expressed if component.is_expression else named]
    return described


def _installed(config: Path | None, data: Path | None) -> "list[Component]":
    with sentences():
        from scripts.cli.inventory import components
        from server.web.build import PACKAGED

        settings = read_settings(config, data=data)
        return components(settings.web_client or PACKAGED)
