import { useEffect, useState } from "preact/hooks";
import { onBatch, state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { addsSubscribers } from "../../model/permissions";
import type { Channel } from "../../model/state";
import { get } from "../../protocol/client";
import { watch } from "../../ui/watch";
import { AddPeople } from "../settings/parts/add-people";
import { ActionButton } from "../settings/parts/saving";
import { FilteredList } from "../settings/parts/table";
import { UserLine } from "../people/user-line";
import { whyNotRemove } from "./permissions";
import { addMembers, leave, removeMember } from "./requests";

/** The subscribers of a channel, kept up to date as they join and leave. */
export function ChannelMembers({ channel }: { channel: Channel }) {
  watch("channels", "users");
  const id = channel.stream_id;
  const [ids, setIds] = useState<ReadonlySet<number>>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    const load = () =>
      get<{ subscribers: number[] }>(`/streams/${id}/members`).then(
        ({ subscribers }) => isCurrent && setIds(new Set(subscribers)),
        (error: Error) => isCurrent && setProblem(error.message),
      );
    void load();
    const stop = onBatch((events) => {
      if (events.some((event) => event.type === "subscription" && event.op !== "update")) void load();
    });
    return () => {
      isCurrent = false;
      stop();
    };
  }, [id]);
  if (problem) return <p class="problem">{problem}</p>;
  if (!ids) return <p class="faded">{i18n.t("Loading…")}</p>;
  const { users, userId } = state();
  const members = [...ids].flatMap((each) => users.get(each) ?? []).sort((one, other) => COLLATOR.compare(one.full_name, other.full_name));
  const reason = whyNotRemove(channel);
  return (
    <>
      {addsSubscribers(state(), channel) ? (
        <AddPeople members={ids} add={(chosen) => addMembers(channel, chosen)} />
      ) : null}
      <FilteredList
        name={i18n.t("Members")}
        items={members}
        keyOf={(user) => user.user_id}
        textOf={(user) => `${user.full_name} ${user.delivery_email ?? ""}`}
        empty={i18n.t("No one is subscribed.")}
        row={(user) => (
          <UserLine user={user}>
            {user.user_id === userId ? (
              <ActionButton kind="small" name={i18n.t("Leave")} done=" " action={() => leave(channel)} />
            ) : (
              <ActionButton
                kind="small"
                name={i18n.t("Remove")}
                label={i18n.t("Remove {name}", { name: user.full_name })}
                done=" "
                reason={user.bot_owner_id === userId ? undefined : reason}
                action={() => removeMember(channel, user.user_id)}
              />
            )}
          </UserLine>
        )}
      />
    </>
  );
}
