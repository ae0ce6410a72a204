"""Rules of accessibility, held against what a page shows: axe-core of the client's own packages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from playwright.async_api import Page

AXE: Final = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

Looks = dict[str, str]
"""Attributes that the client gives to the page by the settings of its looks."""
DAY_AND_NIGHT: Final[Sequence[Looks]] = ({"theme": "light"}, {"theme": "dark"})
HIGH_CONTRAST: Final[Sequence[Looks]] = tuple(each | {"contrast": "more"} for each in DAY_AND_NIGHT)

# What is under way when a view is shown: requests but for the poll, which waits, and frames.
SETTLE: Final = """
(() => {
  const send = window.fetch;
  let open = 0;
  window.fetch = (...given) => {
    if (/[/]events/.test(given[0].url ?? given[0])) return send(...given);
    open += 1;
    return send(...given).finally(() => (open -= 1));
  };
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  window.settled = async () => {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      await frame();
      if (open || document.querySelector("main [aria-busy=true]")) quiet = -1;
    }
  };
})();
"""

# All rules in the first looks; then what depends on colours, in the others.
RUN: Final = """
async ([scope, looks]) => {
  await settled();
  const root = document.documentElement;
  const before = { ...root.dataset };
  const found = [];
  const run = async (name, options) => {
    const given = { resultTypes: ["violations"], ...options };
    const { violations } = await axe.run(scope ?? document, given);
    for (const { id, nodes } of violations) {
      for (const { html, failureSummary } of nodes) {
        const why = failureSummary.replaceAll(/\\s+/g, " ");
        found.push(`${name}: ${id}: ${html.slice(0, 240)} ${why}`);
      }
    }
  };
  const colors = { runOnly: { type: "rule", values: ["color-contrast"] } };
  // Addresses within the client are fragments, which the rule takes for places in the page.
  const all = { rules: { "target-size": { enabled: true }, "skip-link": { enabled: false } } };
  for (const [index, each] of looks.entries()) {
    Object.assign(root.dataset, each);
    await run(Object.values(each).join(" "), index ? colors : all);
  }
  for (const name of ["theme", "contrast"]) delete root.dataset[name];
  Object.assign(root.dataset, before);
  return found;
}
"""


async def add_axe(page: Page) -> None:
    """Load axe into a page. The policy of the page does not apply to what a debugger loads."""
    session = await page.context.new_cdp_session(page)
    await session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    await session.detach()


async def violations(
    page: Page, scope: str | None = None, looks: Sequence[Looks] = DAY_AND_NIGHT
) -> list[str]:
    """Return what breaks a rule within the element of a selector, or in the page, in these looks.

    After the first, only rules of colours are held against them.
    """
    found: list[str] = await page.evaluate(RUN, [scope, looks])
    return found
