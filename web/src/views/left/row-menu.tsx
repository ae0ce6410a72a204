/** The menu of a conversation on the left: by a button, by a right click, and by the keys that stand for one. */

import { i18n } from "../../i18n";
import { load } from "../../ui/lazy";
import { openMenu } from "../../ui/menu";
import type { Anchor } from "../../ui/popover";
import { attempt } from "../../ui/toast";
import type { Row } from "./menus";

function open(row: Row, name: string, anchor: Anchor): void {
  void attempt(async () => {
    const { itemsOf } = await load(() => import("./menus"));
    openMenu(anchor, labelOf(name), itemsOf(row));
  });
}

function labelOf(name: string): string {
  return i18n.t("Menu of {name}", { name });
}

/** Return the handler of a row that opens its menu in place of the browser's. */
export function onRowMenu(row: Row, name: string) {
  return (event: MouseEvent & { currentTarget: HTMLElement }) => {
    event.preventDefault();
    event.stopPropagation();
    const isByMouse = event.button === 2;
    open(row, name, isByMouse ? { x: event.clientX, y: event.clientY } : event.currentTarget.querySelector("a")!);
  };
}

/** The button of a row's menu. */
export function RowMenuButton({ row, name }: { row: Row; name: string }) {
  return (
    <button
      type="button"
      class="quiet icon-button row-menu"
      data-icon="more"
      aria-haspopup="menu"
      aria-label={labelOf(name)}
      title={labelOf(name)}
      onClick={(event) => open(row, name, event.currentTarget)}
    />
  );
}
