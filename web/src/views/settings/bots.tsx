import { useEffect, useState } from "preact/hooks";
import { onBatch, state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { mayCreateBots, realmPermits } from "../../model/permissions";
import type { User } from "../../model/state";
import { del, get, post } from "../../protocol/client";
import { confirm } from "../../ui/dialog";
import { LimitedText } from "../../ui/limited-text";
import { watch } from "../../ui/watch";
import { UserLine } from "../people/user-line";
import { BotSettings, interfaces, MAX_ADDRESS_LENGTH, OUTGOING, privatePartOf } from "./bot-settings";
import { IncomingAddresses } from "./incoming-addresses";
import { ActionButton, SaveNote, useSubmit } from "./parts/saving";

const GENERIC = 1;
const INCOMING = 2;

/** One's bots: their keys, new ones, and what they call. */
export function BotsPanel() {
  watch("users", "bots");
  const { users, userId } = state();
  const bots = [...users.values()]
    .filter((user) => user.is_bot && user.bot_owner_id === userId)
    .sort((one, other) => Number(other.is_active) - Number(one.is_active) || COLLATOR.compare(one.full_name, other.full_name));
  return (
    <>
      <CreateBot />
      <section class="setting-section">
        <h4>{i18n.t("Your bots")}</h4>
        <ul class="item-list" aria-label={i18n.t("Your bots")}>
          {bots.map((bot) => (
            <li key={bot.user_id}>
              <BotLine bot={bot} />
            </li>
          ))}
        </ul>
        {bots.length ? null : <p class="faded list-empty">{i18n.t("You have no bots.")}</p>}
      </section>
    </>
  );
}

function BotLine({ bot }: { bot: User }) {
  // Users are changed in place, and a component that has state is not rendered again for that.
  watch("users", "bots");
  const [key, setKey] = useState<string>();
  const [isOpen, setOpen] = useState(false);
  const path = `/bots/${bot.user_id}`;
  const named = { name: bot.full_name };
  const deactivate = async () => {
    const isSure = await confirm({
      title: i18n.t("Deactivate {name}?", named),
      text: i18n.t("Its key stops working. Its messages stay."),
      action: i18n.t("Deactivate"),
      isDangerous: true,
    });
    if (isSure) await del(path);
  };
  if (!bot.is_active) {
    return (
      <UserLine user={bot}>
        <ActionButton kind="small" name={i18n.t("Reactivate")} label={i18n.t("Reactivate {name}", named)} done=" " action={() => post(`/users/${bot.user_id}/reactivate`)} />
      </UserLine>
    );
  }
  return (
    <>
      <UserLine user={bot}>
        <button type="button" class="small" aria-expanded={isOpen} aria-label={i18n.t("Settings of {name}", named)} onClick={() => setOpen(!isOpen)}>
          {i18n.t("Settings")}
        </button>
        <ActionButton
          kind="small"
          name={key ? i18n.t("Hide key") : i18n.t("Show key")}
          label={key ? i18n.t("Hide key: {name}", named) : i18n.t("Show key: {name}", named)}
          done=" "
          action={async () => setKey(key ? undefined : (await get<{ api_key: string }>(`${path}/api_key`)).api_key)}
        />
        <ActionButton kind="small danger" name={i18n.t("Deactivate")} label={i18n.t("Deactivate {name}", named)} done=" " action={deactivate} />
      </UserLine>
      {key ? (
        <div class="form-actions">
          <input type="text" readOnly class="secret" aria-label={i18n.t("API key of {name}", named)} value={key} onFocus={(event) => event.currentTarget.select()} />
          <ActionButton
            kind="small"
            name={i18n.t("New key")}
            done={i18n.t("The old key no longer works.")}
            action={async () => setKey((await post<{ api_key: string }>(`${path}/api_key/regenerate`)).api_key)}
          />
        </div>
      ) : null}
      {key && bot.bot_type === INCOMING ? <IncomingAddresses botId={bot.user_id} apiKey={key} /> : null}
      {isOpen ? <BotSettings bot={bot} /> : <OutgoingAddress bot={bot} />}
    </>
  );
}

function OutgoingAddress({ bot }: { bot: User }) {
  const address = privatePartOf(bot.user_id)?.services[0]?.base_url;
  return address ? <p class="item-about">{i18n.t("Calls {address}", { address })}</p> : null;
}

function CreateBot() {
  const mayAll = realmPermits(state(), "can_create_bots_group");
  const [isOpen, setOpen] = useState(false);
  const [kind, setKind] = useState(mayAll ? GENERIC : INCOMING);
  const [fullName, setFullName] = useState("");
  const [shortName, setShortName] = useState("");
  const [url, setUrl] = useState("");
  const [format, setFormat] = useState(1);
  const [saving, run] = useSubmit();
  // A bot that was made appears in the list with the next events.
  const [, setBatches] = useState(0);
  useEffect(() => onBatch((events) => events.some(({ type }) => type === "realm_bot") && setBatches((count) => count + 1)), []);
  if (!mayCreateBots(state())) return <p class="faded">{i18n.t("You may not create bots here.")}</p>;
  if (!isOpen) {
    return (
      <p>
        <button type="button" class="primary" onClick={() => setOpen(true)}>
          {i18n.t("Create a bot")}
        </button>
      </p>
    );
  }
  const create = () =>
    run(() => post("/bots", { full_name: fullName.trim(), short_name: shortName.trim(), bot_type: kind, ...(kind === OUTGOING ? { payload_url: url, interface_type: format } : {}) }));
  return (
    <form
      class="small-form"
      onSubmit={(event) => {
        event.preventDefault();
        void create().then((isDone) => {
          if (!isDone) return;
          setOpen(false);
          setFullName("");
          setShortName("");
        });
      }}
    >
      <label>
        <span>{i18n.t("Kind")}</span>
        <select value={String(kind)} onChange={(event) => setKind(Number(event.currentTarget.value))}>
          {mayAll ? <option value={GENERIC}>{i18n.t("Generic: reads and writes by the API")}</option> : null}
          <option value={INCOMING}>{i18n.t("Incoming webhook: another service sends messages")}</option>
          {mayAll ? <option value={OUTGOING}>{i18n.t("Outgoing webhook: calls an address when mentioned")}</option> : null}
        </select>
      </label>
      <label>
        <span>{i18n.t("Name")}</span>
        <LimitedText required max={100} value={fullName} onText={setFullName} />
      </label>
      <label>
        <span>{i18n.t("First part of its email address")}</span>
        <LimitedText required autocomplete="off" max={60} value={shortName} onText={setShortName} />
      </label>
      {kind === OUTGOING ? (
        <>
          <label>
            <span>{i18n.t("Address that it calls")}</span>
            <LimitedText type="url" required autocomplete="off" max={MAX_ADDRESS_LENGTH} value={url} onText={setUrl} />
          </label>
          <label>
            <span>{i18n.t("Format of the calls")}</span>
            <select value={String(format)} onChange={(event) => setFormat(Number(event.currentTarget.value))}>
              {interfaces().map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        </>
      ) : null}
      <div class="form-actions">
        <button type="submit" class="primary" aria-disabled={saving.kind === "saving"}>
          {i18n.t("Create")}
        </button>
        <button type="button" onClick={() => setOpen(false)}>
          {i18n.t("Cancel")}
        </button>
        <SaveNote saving={saving} />
      </div>
    </form>
  );
}
