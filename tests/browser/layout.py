"""What makes a page hard to use that rules of accessibility do not find."""

from typing import Final

from playwright.async_api import Page

# Of every control: whether it is within the window and can be reached by a pointer, and whether the
# focus is seen on it or around it. Of every icon: whether it differs from what is behind it.
FIND: Final = """
async (scope) => {
  await settled();
  const root = document.querySelector(scope ?? "body");
  // A feed that has just been opened holds its place until a person scrolls it.
  document.querySelector(".feed-scroller")?.dispatchEvent(new WheelEvent("wheel"));
  const found = new Set();
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.add(`the page is ${wide} px wider than the window`);
  const nameOf = (element) => element.cloneNode().outerHTML.slice(0, 160);
  const lies = (element, test) => {
    for (let each = element; each; each = each.parentElement) if (test(each)) return true;
    return false;
  };
  const scrolls = (each) =>
    ["auto", "scroll"].includes(getComputedStyle(each).overflowX)
    && each.scrollWidth > each.clientWidth
    && !each.matches("body, .feed-scroller, .dialog-body");
  const isLeft = (element) => lies(element, (each) => {
    const { opacity, visibility } = getComputedStyle(each);
    return opacity === "0" || visibility === "hidden" || each.inert;
  });
  const isSeen = (element) =>
    element.checkVisibility() && element.getClientRects().length > 0 && !isLeft(element);
  const fields = "input, select, textarea";
  const controls = `a[href], button, ${fields}, summary, [tabindex='0'], article[tabindex]`;
  const marks = (element) => {
    const around = [element, ...element.children];
    for (let each = element.parentElement; each; each = each.parentElement) around.push(each);
    const outline = (each) => {
      const style = getComputedStyle(each);
      return style.outlineStyle === "none" ? "" : `${style.outline} ${style.outlineOffset}`;
    };
    return around.map(outline).join();
  };
  const coverOf = (element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const hit = document.elementFromPoint(left + width / 2, top + Math.min(height, 40) / 2);
    const isPart = !hit || element.contains(hit) || hit.contains(element);
    const isHit = isPart || hit.closest("label")?.contains(element);
    return isHit || getComputedStyle(element).pointerEvents === "none" ? null : hit;
  };
  for (const element of root.querySelectorAll(controls)) {
    if (!isSeen(element) || element.disabled) continue;
    element.scrollIntoView({ block: "nearest", inline: "nearest" });
    const rect = element.getBoundingClientRect();
    if ((rect.left < -1 || rect.right > innerWidth + 1) && !lies(element, scrolls)) {
      found.add(`outside of the window: ${nameOf(element)}`);
    }
    // What lies over the place may go once it is scrolled to.
    const cover = coverOf(element) && (await settled(), coverOf(element));
    if (cover) found.add(`covered by ${nameOf(cover)}: ${nameOf(element)}`);
    document.activeElement?.blur();
    const before = marks(element);
    element.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement === element && marks(element) === before) {
      found.add(`focus is not seen: ${nameOf(element)}`);
    }
    element.blur();
  }
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor } = getComputedStyle(each);
      if (!/, 0\\)$|transparent/.test(backgroundColor)) return backgroundColor;
    }
    return "none";
  };
  for (const element of root.querySelectorAll("[data-icon]")) {
    if (!isSeen(element)) continue;
    const { backgroundColor } = getComputedStyle(element, "::before");
    if (backgroundColor === behind(element)) found.add(`the icon is not seen: ${nameOf(element)}`);
  }
  return [...found];
}
"""


async def faults(page: Page, scope: str | None = None) -> list[str]:
    """Return what cannot be reached or seen within the element of a selector, or in the page.

    Only outlines count as marks of the focus: shadows, borders and backgrounds are gone where the
    system forces its colours.
    """
    found: list[str] = await page.evaluate(FIND, scope)
    return found
