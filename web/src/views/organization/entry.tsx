import type { ComponentChild, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { ActionButton } from "../settings/parts/saving";
import { type EntryField, EntryForm } from "./entry-form";

interface Editing {
  fields: readonly EntryField[];
  values: Record<string, string>;
  save: (values: Record<string, string>) => Promise<unknown>;
}

interface EntryProps {
  name: string;
  about?: ComponentChild;
  picture?: ComponentChild;
  remove?: () => Promise<unknown>;
  /** Where it may be changed: the form of its fields. */
  editing?: Editing;
  /** Why it may not be changed. */
  reason: string | undefined;
  /** Further buttons. */
  children?: ComponentChild;
  /** Below the line. */
  more?: ComponentChildren;
}

/** An entry of a list of the organization, which may be edited and removed. */
export function Entry({ name, about, picture, remove, editing, reason, children, more }: EntryProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <div class="item">
        {picture}
        <div class="item-text">
          <strong>{name}</strong>
          {about ? <span class="item-about">{about}</span> : null}
        </div>
        {children}
        {reason || !editing ? null : (
          <button type="button" class="small" aria-expanded={isOpen} aria-label={i18n.t("Edit {name}", { name })} onClick={() => setOpen(!isOpen)}>
            {i18n.t("Edit")}
          </button>
        )}
        {reason || !remove ? null : (
          <ActionButton kind="small danger" name={i18n.t("Remove")} label={i18n.t("Remove {name}", { name })} done=" " action={remove} />
        )}
      </div>
      {isOpen && editing && !reason ? (
        <EntryForm
          fields={editing.fields}
          initial={editing.values}
          action={i18n.t("Save")}
          onCancel={() => setOpen(false)}
          save={async (values) => {
            await editing.save(values);
            setOpen(false);
          }}
        />
      ) : null}
      {more}
    </>
  );
}

/** Return the list with one item moved to another place. */
export function moved<Item>(items: readonly Item[], from: number, to: number): Item[] {
  const others = items.filter((_, index) => index !== from);
  return [...others.slice(0, to), items[from]!, ...others.slice(to)];
}

/** Buttons that move an entry in its list up and down. */
export function MoveButtons({ name, index, count, move }: { name: string; index: number; count: number; move: (to: number) => Promise<unknown> }) {
  return (
    <>
      {index > 0 ? (
        <ActionButton kind="small" name={i18n.t("Move up")} label={i18n.t("Move up: {name}", { name })} done=" " action={() => move(index - 1)} />
      ) : null}
      {index < count - 1 ? (
        <ActionButton kind="small" name={i18n.t("Move down")} label={i18n.t("Move down: {name}", { name })} done=" " action={() => move(index + 1)} />
      ) : null}
    </>
  );
}
