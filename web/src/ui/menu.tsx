import { useLayoutEffect, useRef } from "preact/hooks";
import type { IconName } from "./icons";
import { type Anchor, openPopover } from "./popover";

export interface MenuItem {
  /** The accessible name. */
  name: string;
  /** What is shown, if the name is one by which programs find the item, in English. */
  text?: string;
  onSelect: () => void;
  icon?: IconName;
  /** The key that does the same, for people to see. */
  keys?: string;
  isDangerous?: boolean;
  /** Whether it is chosen, for items of which one is. */
  isChecked?: boolean;
  /** Why it cannot be selected now. */
  reason?: string;
}

/** Items in groups, which are set apart by lines. */
export type MenuGroups = readonly (readonly MenuItem[])[];

function Menu({ label, groups, onClose }: { label: string; groups: MenuGroups; onClose: () => void }) {
  const list = useRef<HTMLDivElement>(null);
  const typed = useRef({ text: "", at: 0 });
  const items = () => [...list.current!.querySelectorAll<HTMLElement>("[role^=menuitem]")];
  useLayoutEffect(() => items()[0]?.focus({ preventScroll: true }), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = items();
    const index = all.indexOf(document.activeElement as HTMLElement);
    const focus = (next: number) => all[(next + all.length) % all.length]?.focus();
    if (event.key === "ArrowDown") focus(index + 1);
    else if (event.key === "ArrowUp") focus(index - 1);
    else if (event.key === "Home") focus(0);
    else if (event.key === "End") focus(-1);
    else if (event.key === "Tab") onClose();
    else if (event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey && event.key !== " ") {
      const now = typed.current;
      now.text = event.timeStamp - now.at < 700 ? now.text + event.key.toLowerCase() : event.key.toLowerCase();
      now.at = event.timeStamp;
      const from = now.text.length > 1 ? index : index + 1;
      const turned = [...all.slice(from), ...all.slice(0, from)];
      turned.find((each) => each.textContent!.toLowerCase().startsWith(now.text))?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" role="menu" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {groups
        .filter((group) => group.length)
        .map((group, index) => (
          <>
            {index ? <hr class="menu-line" /> : null}
            {group.map((item) => (
              <Item key={item.name} item={item} onClose={onClose} />
            ))}
          </>
        ))}
    </div>
  );
}

function Item({ item, onClose }: { item: MenuItem; onClose: () => void }) {
  const { isChecked, reason } = item;
  return (
    <button
      type="button"
      class={`menu-item ${item.isDangerous ? "is-dangerous" : ""}`}
      role={isChecked === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={isChecked}
      aria-disabled={reason ? true : undefined}
      aria-label={item.name}
      title={reason}
      aria-keyshortcuts={item.keys}
      tabIndex={-1}
      data-keys={item.keys}
      data-icon={item.icon}
      onMouseEnter={(event) => event.currentTarget.focus({ preventScroll: true })}
      onClick={() => {
        if (reason) return;
        onClose();
        item.onSelect();
      }}
    >
      <span class="menu-name">{item.text ?? item.name}</span>
    </button>
  );
}

/** Open a menu at a button. The button needs `aria-haspopup="menu"`. */
export function openMenu(anchor: Anchor, label: string, groups: MenuGroups): void {
  openPopover(anchor, (close) => <Menu label={label} groups={groups} onClose={close} />, "menu-popover");
}
