import { useState } from "preact/hooks";
import { i18n } from "../../i18n";
import type { User } from "../../model/state";
import { del } from "../../protocol/client";
import { Dialog } from "../../ui/dialog";
import { SaveNote, useSubmit } from "../settings/parts/saving";

/** Return what can be deleted with an account: names of the protocol's, and labels. */
function deletions(): readonly (readonly [string, string])[] {
  return [
    ["delete_profile", i18n.t("Name, picture and profile")],
    ["delete_public_channel_messages", i18n.t("Messages in public channels")],
    ["delete_private_channel_messages", i18n.t("Messages in private channels")],
    ["delete_direct_messages", i18n.t("Direct messages")],
  ];
}

/** Deactivate a person's account, and delete what is chosen with it. */
export function DeactivateUser({ user, onClose }: { user: User; onClose: () => void }) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [saving, submit] = useSubmit();
  const deactivate = async () => {
    const actions = Object.fromEntries(chosen.map((name) => [name, true]));
    if (await submit(() => del(`/users/${user.user_id}`, chosen.length ? { actions } : {}))) onClose();
  };
  return (
    <Dialog
      title={i18n.t("Deactivate {name}?", { name: user.full_name })}
      size="narrow"
      onClose={onClose}
      footer={
        <>
          <SaveNote saving={saving} done=" " />
          <button type="button" data-autofocus onClick={onClose}>{i18n.t("Cancel")}</button>
          <button type="button" class="danger" aria-disabled={saving.kind === "saving" || undefined} onClick={() => void deactivate()}>
            {chosen.length ? i18n.t("Deactivate and delete") : i18n.t("Deactivate")}
          </button>
        </>
      }
    >
      <p dir="auto">{i18n.t("The account is signed out everywhere and cannot sign in. It can be reactivated.")}</p>
      <fieldset class="choices">
        <legend>{i18n.t("Delete for ever, also of the bots of this account:")}</legend>
        {deletions().map(([name, label]) => (
          <label key={name} class="choice">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={({ currentTarget: { checked } }) => setChosen(checked ? [...chosen, name] : chosen.filter((each) => each !== name))}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <p class="hint">{chosen.length ? i18n.t("What is deleted cannot be brought back.") : i18n.t("Nothing of the account is deleted.")}</p>
    </Dialog>
  );
}
