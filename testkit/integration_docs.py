"""Write the list of services in docs/integrations.md from their declarations.

`python -m testkit.integration_docs` writes what stands below the marker; a test compares it.
"""

from collections.abc import Iterator

from server.integrations.base import Category, Integration
from server.integrations.registry import integrations
from testkit.sources import ROOT

DOCUMENT = ROOT / "docs/integrations.md"
MARKER = "<!-- From here on written by `python -m testkit.integration_docs`. -->\n"
ADDRESS = "$site/api/v1/external/{name}?api_key=$bot_key&stream=general"


def services() -> str:
    """Return the sections of all services, by category."""
    found = integrations().values()
    parts: list[str] = []
    for category in Category:
        of_category = [each for each in found if each.category is category]
        if of_category:
            parts += [f"## {category.value}", *map(_section, of_category)]
    return "\n\n".join(parts) + "\n"


def document() -> str:
    """Return the whole document as it should be."""
    before, _, _ = DOCUMENT.read_text().partition(MARKER)
    return f"{before}{MARKER}\n{services()}"


def _section(integration: Integration) -> str:
    url = ADDRESS.format(name=integration.name)
    steps = enumerate(integration.steps, 1)
    numbered = [f"{number}. {step.replace('{url}', url)}" for number, step in steps]
    return "\n\n".join(
        [f"### {integration.display_name}", "\n".join(numbered), *_details(integration)]
    )


def _details(integration: Integration) -> Iterator[str]:
    if integration.signing_step:
        yield f"Secret: {integration.signing_step}"
    if integration.events:
        yield f"Events: {', '.join(f'`{each}`' for each in integration.events)}."
    for option in integration.options:
        default = " Default: `true`." if option.is_on else ""
        yield f"`{option.key}`: {option.label}{default}"


if __name__ == "__main__":
    DOCUMENT.write_text(document())
