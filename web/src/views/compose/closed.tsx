/** What stands in the place of the compose box where nothing can be written: why, and what can be done. */

import type { ComponentChildren } from "preact";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { readsWithoutSubscription, self } from "../../model/permissions";
import type { Channel } from "../../model/state";
import { Icon } from "../../ui/icons";
import { hasConversation } from "./begun";
import { channelRefusal, targetRefusal } from "./rules";
import type { Target } from "./target";

const REASON_ID = "compose-closed-reason";

interface Closing {
  reason: string;
  /** What the user can do, or ask for. */
  remedy?: ComponentChildren;
}

/** Return why nothing at all can be written to a conversation; undefined where something can. */
export function closingOf(to: Target): Closing | undefined {
  if (to.kind === "topic") {
    if (to.channelId === undefined) return undefined;
    const channel = state().channels.get(to.channelId);
    if (!channel) return { reason: i18n.t("You do not see this channel.") };
    const reason = channelRefusal(state(), channel);
    return reason === undefined ? undefined : { reason, remedy: <ChannelRemedy channel={channel} /> };
  }
  if (!to.userIds.length) return undefined;
  const refused = targetRefusal(state(), to, hasConversation);
  if (!refused) return undefined;
  const isGone = to.userIds.some((id) => state().users.get(id)?.is_active === false);
  return { reason: refused.reason, remedy: isGone ? undefined : i18n.t("Ask an administrator of the organization if you need to.") };
}

function ChannelRemedy({ channel }: { channel: Channel }) {
  const id = channel.stream_id;
  const me = self(state());
  if (channel.is_archived) {
    return me?.is_admin ? <a href={`#channels/${id}/general`}>{i18n.t("Restore it in its settings")}</a> : <>{i18n.t("You can still read and search it.")}</>;
  }
  if (!channel.is_subscribed && !readsWithoutSubscription(state(), channel)) return <>{i18n.t("Ask a subscriber to add you.")}</>;
  return <a href={`#channels/${id}/permissions`}>{i18n.t("See who may post, and ask them")}</a>;
}

/** One sentence where the box would be. Send stays there for those who look for it, and says the same. */
export function Closed({ closing: { reason, remedy } }: { closing: Closing }) {
  return (
    <div class="compose-box compose-refused" tabIndex={-1} role="group" aria-labelledby={REASON_ID}>
      <Icon name="lock" />
      <p id={REASON_ID}>{reason}</p>
      {remedy ? <p>{remedy}</p> : null}
      <button type="button" class="primary send" aria-label="Send" aria-disabled="true" aria-describedby={REASON_ID} title={reason}>
        <Icon name="send" />
      </button>
    </div>
  );
}
