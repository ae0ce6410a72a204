import { useEffect, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { del, get, put } from "../../protocol/client";
import { ActionButton, SaveNote, useSaving, useSubmit } from "./parts/saving";
import { withStyles } from "./parts/styled-step";

/** The secret with which the service signs what it sends: set and removed, and never shown. `step` says where the service has it. */
export function WebhookSecret({ botId, step }: { botId: number; step: string }) {
  const path = `/bots/${botId}/webhook_secret`;
  const [isSet, setIsSet] = useState<boolean>();
  const [secret, setSecret] = useState("");
  const [loading, load] = useSaving();
  const [saving, save] = useSubmit();
  useEffect(() => {
    void load(async () => setIsSet((await get<{ is_set: boolean }>(path)).is_set));
  }, [path]);
  const submit = async () => {
    if (!(await save(() => put(path, { secret })))) return;
    setSecret("");
    setIsSet(true);
  };
  const remove = async () => {
    await del(path);
    setIsSet(false);
  };
  if (isSet === undefined) return <SaveNote saving={loading} done=" " />;
  return (
    <form
      class="small-form"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <p class="faded">
        {isSet ? i18n.t("Only what is signed with the secret is posted.") : i18n.t("With a secret, only what is signed with it is posted: then the address alone is of no use to others.")}
      </p>
      <p class="faded">{withStyles(step || i18n.t("This service does not sign. Where it can send headers of your choice, let it send the secret as `X-Webhook-Token`."))}</p>
      <label>
        <span>{isSet ? i18n.t("New secret") : i18n.t("Secret of the service")}</span>
        <input type="password" autocomplete="off" required minLength={8} maxLength={1000} value={secret} onInput={(event) => setSecret(event.currentTarget.value)} />
      </label>
      <div class="form-actions">
        <button type="submit">{i18n.t("Save secret")}</button>
        {isSet ? <ActionButton kind="danger" name={i18n.t("Remove secret")} done=" " action={remove} /> : null}
        <SaveNote saving={saving} />
      </div>
    </form>
  );
}
