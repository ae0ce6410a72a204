import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { whyUnfit } from "./named-people";
import { userName } from "./names";
import { PeoplePicker, RefusedList } from "./people-picker";
import { SaveNote, useSaving } from "./saving";

interface AddPeopleProps {
  /** Those who are in already. */
  members: ReadonlySet<number>;
  /** Add all of them by one request. Resolves to the ids of those who were added by it. */
  add: (ids: number[]) => Promise<readonly number[]>;
}

/** Choose many people, add them at once, and say who could not be added and why. */
export function AddPeople({ members, add }: AddPeopleProps) {
  const [chosen, setChosen] = useState<number[]>([]);
  const [left, setLeft] = useState<{ name: string; reason: string }[]>([]);
  const [done, setDone] = useState("");
  const [saving, run] = useSaving();
  const isOff = !chosen.length || saving.kind === "saving";
  const submit = () =>
    run(async () => {
      // They may have been deactivated, or added by others, since they were chosen.
      const reasonOf = (id: number) => {
        const user = state().users.get(id);
        return user ? whyUnfit(user, members) : i18n.t("is not known here");
      };
      const fit = chosen.filter((id) => !reasonOf(id));
      const added = new Set(fit.length ? await add(fit) : []);
      setLeft(chosen.filter((id) => !added.has(id)).map((id) => ({ name: userName(id), reason: reasonOf(id) ?? i18n.t("is in already") })));
      setDone(i18n.t("{count, plural, =0 {No one was added.} one {# person was added.} other {# people were added.}}", { count: added.size }));
      setChosen([]);
    });
  return (
    <div class="add-people">
      <div class="add-row">
        <PeoplePicker
          label={i18n.t("Add people")}
          chosen={chosen}
          takesMany
          without={members}
          onChange={(ids) => {
            setChosen(ids);
            setLeft([]);
          }}
        />
        <button type="button" class="primary" aria-disabled={isOff || undefined} title={chosen.length ? undefined : i18n.t("Choose people first.")} onClick={() => void (isOff || submit())}>
          {chosen.length > 1 ? i18n.t("Add {count} people", { count: chosen.length }) : i18n.t("Add")}
        </button>
      </div>
      <SaveNote saving={saving} done={done} />
      <div role="status">{left.length ? <RefusedList title={i18n.t("Not added:")} refused={left} /> : null}</div>
    </div>
  );
}
