import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { availabilityOf } from "../../model/availability";
import { COLLATOR } from "../../model/counts";
import { directNarrow } from "../../model/narrow";
import { isInGroup, self } from "../../model/permissions";
import type { User } from "../../model/state";
import { del, get, post } from "../../protocol/client";
import { addressOf, closeDialog } from "../../router";
import { Avatar } from "../../ui/avatar";
import { minute } from "../../ui/clock";
import { Dialog } from "../../ui/dialog";
import { StatusEmoji } from "../../ui/status-emoji";
import { relativeTime } from "../../ui/times";
import { watch } from "../../ui/watch";
import { roleName, userName } from "../settings/parts/names";
import { ActionButton } from "../settings/parts/saving";
import { closeUnlessEditing } from "../settings/parts/unsaved";
import { ManageUser } from "./manage-user";
import { FIELD, type ProfileField, textOfField, valueOfField } from "./profile-fields";
import { shortDate, timeOfDayIn } from "../../ui/time";

/** The profile of `#user/ID`. */
export default function ProfileDialog({ path }: { path: string[] }) {
  watch("users", "presence", "statuses", "mutedUsers", "groups", "realm", "channels");
  const user = state().users.get(Number(path[0]));
  if (!user) {
    return (
      <Dialog title={i18n.t("Profile")} onClose={closeDialog}>
        <p>{i18n.t("There is no such user, or you cannot see this user.")}</p>
      </Dialog>
    );
  }
  const isSelf = user.user_id === state().userId;
  const isMuted = state().mutedUsers.has(user.user_id);
  const me = self(state());
  return (
    <Dialog
      title={i18n.t("Profile")}
      onClose={() => void closeUnlessEditing()}
      footer={
        <>
          {isSelf || user.is_system_bot ? null : (
            <ActionButton
              name={isMuted ? i18n.t("Unmute") : i18n.t("Mute")}
              done=" "
              action={() => (isMuted ? del : post)(`/users/me/muted_users/${user.user_id}`)}
            />
          )}
          {isSelf ? (
            <a class="button" href="#settings/profile">
              {i18n.t("Edit profile")}
            </a>
          ) : null}
          <a class="button" href={addressOf({ terms: [{ operator: "sender", operand: user.user_id }] })}>
            {i18n.t("Messages sent")}
          </a>
          {user.is_active ? (
            <a class="button primary" href={addressOf(directNarrow([user.user_id]))}>
              {isSelf ? i18n.t("Write to yourself") : i18n.t("Send direct message")}
            </a>
          ) : null}
        </>
      }
    >
      <ProfileHead user={user} />
      <Facts user={user} />
      {me?.is_admin && !user.is_system_bot ? <ManageUser user={user} /> : null}
    </Dialog>
  );
}

function ProfileHead({ user }: { user: User }) {
  // What reads the clock is rendered by what it watches alone: users are changed in place.
  watch("users", "presence", "statuses");
  const status = state().statuses.get(user.user_id);
  return (
    <div class="profile-head">
      <Avatar user={user} size={84} />
      <div>
        <h3>{user.full_name}</h3>
        <span class="tag">{user.is_bot ? i18n.t("Bot") : roleName(user.role)}</span>
        {user.is_active ? null : <span class="tag">{i18n.t("Deactivated")}</span>}
        {status?.status_text || status?.emoji_code ? (
          <p>
            <StatusEmoji userId={user.user_id} /> {status.status_text}
          </p>
        ) : null}
        {user.is_bot || !user.is_active ? null : <p class="faded">{availabilityText(user)}</p>}
      </div>
    </div>
  );
}

function availabilityText(user: User): string {
  const now = minute.value;
  switch (availabilityOf(state(), user.user_id, now / 1000)) {
    case "active":
      return i18n.t("Active now");
    case "idle":
      return i18n.t("Idle");
    default: {
      const { active_timestamp = 0, idle_timestamp = 0 } = state().presences.get(user.user_id) ?? {};
      const last = Math.max(active_timestamp, idle_timestamp);
      return last ? i18n.t("Last active {time}", { time: relativeTime(last * 1000, now) }) : i18n.t("Not active lately");
    }
  }
}

function localTime(zone: string): string | undefined {
  try {
    return timeOfDayIn(zone, minute.value / 1000);
  } catch {
    // A zone that this browser does not know.
    return undefined;
  }
}

function Facts({ user }: { user: User }) {
  watch("users", "groups", "realm", "channels");
  const fields = (state().fields.custom_profile_fields ?? []) as ProfileField[];
  const groups = [...state().groups.values()].filter(
    (group) => !group.is_system_group && !group.deactivated && isInGroup(state(), group.id, user.user_id),
  );
  const time = user.timezone ? localTime(user.timezone) : undefined;
  return (
    <dl class="facts">
      {user.delivery_email ? (
        <>
          <dt>{i18n.t("Email")}</dt>
          <dd>
            <a href={`mailto:${user.delivery_email}`}>{user.delivery_email}</a>
          </dd>
        </>
      ) : null}
      {time ? (
        <>
          <dt>{i18n.t("Local time")}</dt>
          <dd>{time}</dd>
        </>
      ) : null}
      {user.bot_owner_id ? (
        <>
          <dt>{i18n.t("Owner")}</dt>
          <dd>
            <a href={`#user/${user.bot_owner_id}`}>{userName(user.bot_owner_id)}</a>
          </dd>
        </>
      ) : null}
      {fields.map((field) => (
        <FieldFact key={field.id} field={field} user={user} />
      ))}
      {user.date_joined ? (
        <>
          <dt>{i18n.t("Joined")}</dt>
          <dd>{shortDate(Date.parse(user.date_joined) / 1000)}</dd>
        </>
      ) : null}
      {groups.length ? (
        <>
          <dt>{i18n.t("Groups")}</dt>
          <dd class="chips">
            {groups.map((group) => (
              <a key={group.id} class="chip" href={`#groups/${group.id}`}>
                {group.name}
              </a>
            ))}
          </dd>
        </>
      ) : null}
      <ChannelsOf user={user} />
    </dl>
  );
}

function FieldFact({ field, user }: { field: ProfileField; user: User }) {
  const value = valueOfField(field, user);
  if (value === undefined) return null;
  let shown;
  if (typeof value !== "string") {
    shown = value.map((id) => (
      <a key={id} class="chip" href={`#user/${id}`}>
        {userName(id)}
      </a>
    ));
  } else if (field.type === FIELD.LINK && /^https?:/i.test(value)) {
    shown = (
      <a href={value} target="_blank" rel="noopener noreferrer">
        {value}
      </a>
    );
  } else shown = textOfField(field, value);
  return (
    <>
      <dt>{field.name}</dt>
      <dd>{shown}</dd>
    </>
  );
}

/** The channels of a person that the user may know of. */
function ChannelsOf({ user }: { user: User }) {
  const [ids, setIds] = useState<number[]>();
  useEffect(() => {
    let isCurrent = true;
    setIds(undefined);
    get<{ subscribed_channel_ids: number[] }>(`/users/${user.user_id}/channels`).then(
      (answer) => isCurrent && setIds(answer.subscribed_channel_ids),
      // Not all may see the channels of others: then there is nothing to show.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [user.user_id]);
  const channels = (ids ?? []).flatMap((id) => state().channels.get(id) ?? []).sort((one, other) => COLLATOR.compare(one.name, other.name));
  if (!channels.length) return null;
  return (
    <>
      <dt>{i18n.t("Channels")}</dt>
      <dd class="chips">
        {channels.map((channel) => (
          <a key={channel.stream_id} class="chip" href={`#channels/${channel.stream_id}/general`}>
            {channel.name}
          </a>
        ))}
      </dd>
    </>
  );
}
