import { useEffect, useState } from "preact/hooks";
import { onBatch, state } from "../../app";
import { i18n } from "../../i18n";
import { realmPermits } from "../../model/permissions";
import { ApiError, del, get, post } from "../../protocol/client";
import type { Invitation } from "../../protocol/types";
import { COLLATOR } from "../../model/counts";
import { ChannelIcon } from "../../ui/icons";
import { addressesOf } from "./addresses";
import { confirm } from "../../ui/dialog";
import { SecretLink } from "../../ui/secret-link";
import { isDefault } from "../channels/requests";
import { ROLES, roleName, userName } from "../settings/parts/names";
import { ActionButton, SaveNote, useSubmit } from "../settings/parts/saving";
import { FilteredList } from "../settings/parts/table";
import { shortTime } from "../../ui/time";

const MINUTES_A_DAY = 1440;

/** Invitations by email and by link, and those that are pending. */
export function InvitationsPanel() {
  const [invites, setInvites] = useState<Invitation[]>();
  const [problem, setProblem] = useState<string>();
  const load = () =>
    get<{ invites: Invitation[] }>("/invites").then(
      (answer) => setInvites(answer.invites),
      (error: Error) => setProblem(error.message),
    );
  useEffect(() => {
    void load();
    return onBatch((events) => {
      if (events.some(({ type }) => type === "invites_changed")) void load();
    });
  }, []);
  return (
    <>
      <InviteForm pending={new Set(invites?.map((each) => (each.email ?? "").toLowerCase()))} onDone={() => void load()} />
      <section class="setting-section">
        <h4>{i18n.t("Pending")}</h4>
        {problem ? <p class="problem">{problem}</p> : null}
        {invites ? (
          <FilteredList
            name={i18n.t("Pending invitations")}
            items={invites}
            keyOf={(each) => `${each.is_multiuse} ${each.id}`}
            textOf={(each) => `${each.email ?? ""} ${userName(each.invited_by_user_id)}`}
            empty={i18n.t("No invitations are pending.")}
            row={(each) => <PendingInvitation invitation={each} onDone={() => void load()} />}
          />
        ) : null}
      </section>
    </>
  );
}

function PendingInvitation({ invitation, onDone }: { invitation: Invitation; onDone: () => void }) {
  const { id, is_multiuse: isLink, email, expiry_date: ends, link_url: link } = invitation;
  const name = isLink ? i18n.t("Link") : (email ?? "");
  return (
    <div class="item">
      <div class="item-text">
        <strong>{name}</strong>
        <span class="tag">{roleName(invitation.invited_as)}</span>
        <span class="item-about">
          {i18n.t("By {name}", { name: userName(invitation.invited_by_user_id) })} ·{" "}
          {ends ? i18n.t("until {date}", { date: shortTime(ends) }) : i18n.t("without an end")}
        </span>
        {link ? <SecretLink label={i18n.t("Invitation link")} link={link} /> : null}
      </div>
      {isLink ? null : <ActionButton kind="small" name={i18n.t("Send again")} done={i18n.t("Sent")} action={() => post(`/invites/${id}/resend`)} />}
      <ActionButton
        kind="small danger"
        name={i18n.t("Revoke")}
        label={i18n.t("Revoke {name}", { name })}
        done=" "
        action={async () => {
          const isSure = await confirm({
            title: i18n.t("Revoke {name}?", { name }),
            text: i18n.t("It cannot be used to join any more."),
            action: i18n.t("Revoke"),
            isDangerous: true,
          });
          if (!isSure) return;
          await del(isLink ? `/invites/multiuse/${id}` : `/invites/${id}`);
          onDone();
        }}
      />
    </div>
  );
}

/** `pending` has the addresses that are invited already, in lower case. */
function InviteForm({ pending, onDone }: { pending: ReadonlySet<string>; onDone: () => void }) {
  const { fields } = state();
  const [emails, setEmails] = useState("");
  const [role, setRole] = useState(400);
  const [days, setDays] = useState(10);
  const [channelIds, setChannelIds] = useState<readonly number[]>([]);
  const [link, setLink] = useState<string>();
  const [done, setDone] = useState("");
  const [saving, run] = useSubmit();
  const byEmail = realmPermits(state(), "can_invite_users_group");
  const byLink = realmPermits(state(), "create_multiuse_invite_group");
  if (!byEmail && !byLink) return <p class="faded">{i18n.t("You may not invite people.")}</p>;
  const roles = ROLES.filter((each) => each >= 400 || (fields.is_admin && (each !== 100 || fields.is_owner)));
  const common = {
    invite_as: role,
    invite_expires_in_minutes: days ? days * MINUTES_A_DAY : null,
    stream_ids: [...channelIds],
    include_realm_default_subscriptions: true,
  };
  const send = () =>
    run(async () => {
      const addresses = addressesOf(emails);
      const known = addresses.filter((each) => pending.has(each.toLowerCase()));
      if (known.length) throw new Error(i18n.t("{emails}: invited already. Send these invitations again below.", { emails: known.join(", ") }));
      try {
        await post("/invites", { ...common, invitee_emails: addresses.join(",") });
      } catch (error) {
        // Those that could be invited may have been.
        onDone();
        throw new Error(refusalOf(error as Error), { cause: error });
      }
      setDone(i18n.t("{count, plural, one {Invited # person.} other {Invited # people.}}", { count: addresses.length }));
      setEmails("");
      onDone();
    });
  const makeLink = () =>
    run(async () => {
      const answer = await post<{ invite_link: string }>("/invites/multiuse", common);
      setLink(answer.invite_link);
      setDone(i18n.t("Anyone with this link can join."));
      onDone();
    });
  return (
    <form
      class="small-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (emails.trim()) void send();
      }}
    >
      {byEmail ? (
        <label>
          <span>{i18n.t("Email addresses")}</span>
          <textarea rows={3} placeholder={i18n.t("One a line, or separated by commas")} value={emails} onInput={(event) => setEmails(event.currentTarget.value)} />
        </label>
      ) : null}
      <label>
        <span>{i18n.t("Join as")}</span>
        <select value={String(role)} onChange={(event) => setRole(Number(event.currentTarget.value))}>
          {roles.map((each) => (
            <option key={each} value={String(each)}>
              {roleName(each)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{i18n.t("Valid for")}</span>
        <select value={String(days)} onChange={(event) => setDays(Number(event.currentTarget.value))}>
          {[1, 3, 10, 30].map((count) => (
            <option key={count} value={String(count)}>
              {i18n.t("{count, plural, one {# day} other {# days}}", { count })}
            </option>
          ))}
          <option value="0">{i18n.t("Without an end")}</option>
        </select>
      </label>
      <MoreChannels chosen={channelIds} onChange={setChannelIds} />
      <div class="form-actions">
        {byEmail ? (
          <button type="submit" class="primary" aria-disabled={!emails.trim() || saving.kind === "saving" || undefined}>
            {i18n.t("Send invitations")}
          </button>
        ) : null}
        {byLink ? (
          <button type="button" aria-disabled={saving.kind === "saving" || undefined} onClick={() => void makeLink()}>
            {i18n.t("Create link")}
          </button>
        ) : null}
        <SaveNote saving={saving} done={done} />
      </div>
      {link ? <SecretLink label={i18n.t("New invitation link")} link={link} /> : null}
    </form>
  );
}

/** Return what the server has said, with the addresses that it did not accept, and why. */
function refusalOf(error: Error): string {
  const refused = error instanceof ApiError ? ((error.details.errors ?? []) as [email: string, reason: string, ...unknown[]][]) : [];
  return [error.message, ...refused.map(([email, reason]) => `${email}: ${reason}`)].join(" ");
}

/** Channels that those who are invited join besides the default ones. */
function MoreChannels({ chosen, onChange }: { chosen: readonly number[]; onChange: (ids: readonly number[]) => void }) {
  const channels = [...state().channels.values()]
    .filter((each) => !each.is_archived && !isDefault(each) && (!each.invite_only || each.is_subscribed))
    .sort((one, other) => COLLATOR.compare(one.name, other.name));
  if (!channels.length) return null;
  return (
    <details>
      <summary>
        {i18n.t("{count, plural, =0 {Channels besides the default ones} one {# channel besides the default ones} other {# channels besides the default ones}}", { count: chosen.length })}
      </summary>
      <div class="check-list" role="group" aria-label={i18n.t("Channels")}>
        {channels.map((each) => (
          <label key={each.stream_id} class="choice">
            <input
              type="checkbox"
              checked={chosen.includes(each.stream_id)}
              onChange={(event) => {
                const others = chosen.filter((id) => id !== each.stream_id);
                onChange(event.currentTarget.checked ? [...others, each.stream_id] : others);
              }}
            />
            <ChannelIcon channel={each} /> {each.name}
          </label>
        ))}
      </div>
    </details>
  );
}
