import { useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { del, post } from "../../protocol/client";
import type { Answer } from "../../protocol/types";
import { confirm } from "../../ui/dialog";
import { SecretLink } from "../../ui/secret-link";
import { shortTime } from "../../ui/time";
import { useAnswer } from "../settings/parts/answer";
import { userName } from "../settings/parts/names";
import { ActionButton, SaveNote, useSubmit } from "../settings/parts/saving";

type Tokens = Answer<"GET /realm/scim/tokens">;
type Token = Tokens["tokens"][number];

const SERVICE = "/scim/v2";

/** Tokens with which directories manage accounts and groups by SCIM, for owners. */
export function DirectoryTokensPanel() {
  const { answer, problem, ask } = useAnswer<Tokens>("/realm/scim/tokens");
  const tokens = answer?.tokens ?? [];
  return (
    <>
      <p class="faded">
        {i18n.t("With a token, a directory such as Okta or Entra creates, changes and deactivates accounts and groups here, by SCIM 2.0. The address and the token are entered there.")}
      </p>
      <NewToken onDone={() => void ask()} />
      {problem ? <p class="problem">{problem}</p> : null}
      <ul class="item-list" aria-label={i18n.t("Tokens of directories")}>
        {tokens.map((each) => (
          <li key={each.id}>
            <Item of={each} onDone={ask} />
          </li>
        ))}
      </ul>
      {answer && !tokens.length ? <p class="faded list-empty">{i18n.t("No directory has a token.")}</p> : null}
      {tokens.length ? <Closures /> : null}
    </>
  );
}

function NewToken({ onDone }: { onDone: () => void }) {
  const [name, setName] = useState("");
  const [token, setToken] = useState<string>();
  const [saving, run] = useSubmit();
  const create = async () => {
    const made = await post<Answer<"POST /realm/scim/tokens">>("/realm/scim/tokens", { name });
    setToken(made.token);
    setName("");
    onDone();
  };
  return (
    <form
      class="small-form"
      onSubmit={(event) => {
        event.preventDefault();
        void run(create);
      }}
    >
      <label>
        <span>{i18n.t("Name of the directory")}</span>
        <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <div class="form-actions">
        <button type="submit">{i18n.t("Create a token")}</button>
        <SaveNote saving={saving} done={i18n.t("Created")} />
      </div>
      {token ? (
        <div role="group" aria-label={i18n.t("New token")}>
          <p>{i18n.t("Enter both at the directory now: the token is not shown again.")}</p>
          <SecretLink label={i18n.t("Address of the service")} link={`${location.origin}${SERVICE}`} />
          <SecretLink label={i18n.t("Token")} link={token} button={i18n.t("Copy token")} copied={i18n.t("Token copied.")} />
        </div>
      ) : null}
    </form>
  );
}

function Item({ of: { id, name, hint, creator_id, created_at, last_used_at }, onDone }: { of: Token; onDone: () => Promise<void> }) {
  const revoke = async () => {
    const isSure = await confirm({
      title: i18n.t("Revoke the token of {name}?", { name }),
      text: i18n.t("The directory is refused from its next request on. Accounts and groups stay as they are."),
      action: i18n.t("Revoke the token"),
      isDangerous: true,
    });
    if (!isSure) return;
    await del(`/realm/scim/tokens/${id}`);
    await onDone();
  };
  const maker = creator_id === null ? i18n.t("The operator of the server") : userName(creator_id);
  const used = last_used_at === null ? i18n.t("not used yet") : i18n.t("last used {time}", { time: shortTime(last_used_at) });
  return (
    <div class="item">
      <div class="item-text">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <code class="tag">{hint}…</code>
        <span class="item-about">
          {maker} · {shortTime(created_at)} · {used}
        </span>
      </div>
      <ActionButton kind="small danger" name={i18n.t("Revoke…")} label={i18n.t("Revoke the token of {name}", { name })} done=" " action={revoke} />
    </div>
  );
}

/** A directory that fails would close many accounts: more than a few at once is allowed here. */
function Closures() {
  const [until, setUntil] = useState<number>();
  const allow = async () => {
    const isSure = await confirm({
      title: i18n.t("Let directories deactivate many accounts?"),
      text: i18n.t("For a day there is no limit. Otherwise a directory deactivates a few accounts within an hour, in case it fails."),
      action: i18n.t("Allow it for a day"),
      isDangerous: true,
    });
    if (isSure) setUntil((await post<Answer<"POST /realm/scim/closures">>("/realm/scim/closures")).ends_at);
  };
  return (
    <div class="panel-actions">
      <ActionButton name={i18n.t("Let directories deactivate many accounts…")} done=" " action={allow} />
      <span role="status">{until ? i18n.t("Allowed until {time}", { time: shortTime(until) }) : null}</span>
    </div>
  );
}
