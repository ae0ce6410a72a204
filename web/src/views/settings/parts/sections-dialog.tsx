import type { ComponentChild } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { go } from "../../../router";
import { Dialog } from "../../../ui/dialog";
import { i18n } from "../../../i18n";
import { closeUnlessEditing, guardLinks } from "./unsaved";

export interface Panel {
  /** Last part of the address. */
  id: string;
  title: string;
  render: () => ComponentChild;
}

interface SectionsDialogProps {
  title: string;
  /** Address of a panel without its id, such as `#settings/`. */
  base: string;
  panels: readonly Panel[];
  current: string | undefined;
}

/** A dialog with sections on the left, each with an address of its own, and the panel of one beside them. */
export function SectionsDialog({ title, base, panels, current }: SectionsDialogProps) {
  const panel = panels.find((each) => each.id === current) ?? panels[0]!;
  const nav = useRef<HTMLElement>(null);
  const body = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (body.current) body.current.scrollTop = 0;
    // On narrow screens a list stands in its place.
    nav.current!.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [panel.id]);
  const choose = (field: HTMLSelectElement) => {
    const chosen = field.value;
    field.value = panel.id;
    void closeUnlessEditing(() => go(`${base}${chosen}`));
  };
  return (
    <Dialog title={title} size="wide" onClose={() => void closeUnlessEditing()}>
      <div class="sections" onClick={guardLinks}>
        <label class="sections-choice">
          <span class="visually-hidden">{i18n.t("Sections")}</span>
          <select value={panel.id} onChange={({ currentTarget }) => choose(currentTarget)}>
            {panels.map((each) => (
              <option key={each.id} value={each.id}>
                {each.title}
              </option>
            ))}
          </select>
        </label>
        <nav class="sections-nav" ref={nav} aria-label={i18n.t("Sections")}>
          {panels.map((each) => (
            <a key={each.id} href={`${base}${each.id}`} data-autofocus={each === panel || undefined} aria-current={each === panel ? "page" : undefined}>
              {each.title}
            </a>
          ))}
        </nav>
        <div class="sections-panel" ref={body} key={panel.id}>
          <h3>{panel.title}</h3>
          {panel.render()}
        </div>
      </div>
    </Dialog>
  );
}
