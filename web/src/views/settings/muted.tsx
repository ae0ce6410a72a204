import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { topicNarrow } from "../../model/narrow";
import { Policy, type TopicPolicy } from "../../model/state";
import { del, post } from "../../protocol/client";
import { addressOf } from "../../router";
import { watch } from "../../ui/watch";
import { topicName } from "../left/channel-item";
import { UserLine } from "../people/user-line";
import { ActionButton, SaveNote, useSaving } from "./parts/saving";
import { FilteredList } from "./parts/table";

/** Muted people, and topics with a policy of their own. */
export function MutedPanel() {
  watch("mutedUsers", "users", "topicPolicies", "channels");
  const { mutedUsers, users, topicPolicies, channels } = state();
  const people = [...mutedUsers].flatMap((id) => users.get(id) ?? []).sort((one, other) => COLLATOR.compare(one.full_name, other.full_name));
  const channelOf = (each: TopicPolicy) => channels.get(each.stream_id)?.name ?? "";
  const topics = [...topicPolicies.values()].sort(
    (one, other) => COLLATOR.compare(channelOf(one), channelOf(other)) || COLLATOR.compare(one.topic_name, other.topic_name),
  );
  return (
    <>
      <section class="setting-section">
        <h4>{i18n.t("Muted people")}</h4>
        <FilteredList
          name={i18n.t("Muted people")}
          items={people}
          keyOf={(user) => user.user_id}
          textOf={(user) => user.full_name}
          empty={i18n.t("You have muted no one.")}
          row={(user) => (
            <UserLine user={user}>
              <ActionButton
                kind="small"
                name={i18n.t("Unmute")}
                label={i18n.t("Unmute {name}", { name: user.full_name })}
                done=" "
                action={() => del(`/users/me/muted_users/${user.user_id}`)}
              />
            </UserLine>
          )}
        />
      </section>
      <section class="setting-section">
        <h4>{i18n.t("Topics")}</h4>
        <FilteredList
          name={i18n.t("Topics")}
          items={topics}
          keyOf={(each) => `${each.stream_id} ${each.topic_name}`}
          textOf={(each) => `${channelOf(each)} ${each.topic_name}`}
          empty={i18n.t("You follow, mute or unmute no topic.")}
          row={(each) => <TopicLine policy={each} channel={channelOf(each)} />}
        />
      </section>
    </>
  );
}

function TopicLine({ policy, channel }: { policy: TopicPolicy; channel: string }) {
  const [saving, run] = useSaving();
  const { stream_id, topic_name } = policy;
  const name = topicName(topic_name);
  return (
    <div class="item">
      <div class="item-text">
        <a class="item-name" href={addressOf(topicNarrow(stream_id, topic_name))}>
          {name}
        </a>
        <span class="item-about">{channel}</span>
      </div>
      <select
        aria-label={i18n.t("Notifications of {name}", { name })}
        value={String(policy.visibility_policy)}
        onChange={(event) => {
          const visibility_policy = Number(event.currentTarget.value);
          void run(() => post("/user_topics", { stream_id, topic: topic_name, visibility_policy }));
        }}
      >
        <option value={String(Policy.INHERIT)}>{i18n.t("As its channel")}</option>
        <option value={String(Policy.MUTED)}>{i18n.t("Muted")}</option>
        <option value={String(Policy.UNMUTED)}>{i18n.t("Unmuted")}</option>
        <option value={String(Policy.FOLLOWED)}>{i18n.t("Followed")}</option>
      </select>
      <SaveNote saving={saving} />
    </div>
  );
}
