import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import type { Channel } from "../../model/state";
import { channelAddress, closeDialog } from "../../router";
import { Dialog } from "../../ui/dialog";
import { ChannelIcon } from "../../ui/icons";
import { watch } from "../../ui/watch";
import { ActionButton } from "../settings/parts/saving";
import { FilteredList } from "../settings/parts/table";
import { ChannelPage } from "./channel-page";
import { CreateChannel } from "./create-channel";
import { whyNotCreate, whyNotJoin } from "./permissions";
import { join, leave } from "./requests";

const TABS = ["available", "subscribed", "all"] as const;
type Tab = (typeof TABS)[number];

/** The dialog of `#channels/...`: all channels, a new one, or the settings of one. */
export default function ChannelsDialog({ path }: { path: string[] }) {
  const [head = "", ...rest] = path;
  if (head === "new") return <CreateChannel />;
  if (/^\d+$/.test(head)) return <ChannelPage id={Number(head)} panel={rest.at(-1)} />;
  return <BrowseChannels tab={TABS.find((each) => each === head) ?? "available"} />;
}

function tabName(tab: Tab): string {
  if (tab === "available") return i18n.t("Not subscribed");
  return tab === "subscribed" ? i18n.t("Subscribed") : i18n.t("All");
}

function BrowseChannels({ tab }: { tab: Tab }) {
  watch("channels", "realm", "groups", "users");
  const listed = [...state().channels.values()]
    .filter((each) => tab === "all" || (!each.is_archived && each.is_subscribed === (tab === "subscribed")))
    .sort((one, other) => Number(one.is_archived) - Number(other.is_archived) || COLLATOR.compare(one.name, other.name));
  const mayCreate = (["public", "shared", "web-public"] as const).some((each) => !whyNotCreate(each));
  return (
    <Dialog title={i18n.t("Channels")} size="wide" onClose={closeDialog}>
      <div class="browse">
        <nav class="tabs" aria-label={i18n.t("Channels")}>
          {TABS.map((each) => (
            <a key={each} href={`#channels/${each}`} data-autofocus={each === tab || undefined} aria-current={each === tab ? "page" : undefined}>
              {tabName(each)}
            </a>
          ))}
        </nav>
        <FilteredList
          key={tab}
          name={i18n.t("Channels")}
          items={listed}
          keyOf={(channel) => channel.stream_id}
          textOf={(channel) => `${channel.name} ${channel.description}`}
          empty={tab === "available" ? i18n.t("You are subscribed to every channel that you see.") : i18n.t("There are no channels here.")}
          row={(channel) => <ChannelRow channel={channel} />}
        >
          {mayCreate ? (
            <a class="button primary" href="#channels/new">
              {i18n.t("Create channel")}
            </a>
          ) : null}
        </FilteredList>
      </div>
    </Dialog>
  );
}

function ChannelRow({ channel }: { channel: Channel }) {
  const { name, description, is_subscribed, is_archived, subscriber_count, stream_weekly_traffic: traffic } = channel;
  return (
    <div class="item">
      <ChannelIcon channel={channel} />
      <div class="item-text">
        <a class="item-name" href={`#channels/${channel.stream_id}/general`}>
          {name}
        </a>
        {is_archived ? <span class="tag">{i18n.t("Archived")}</span> : null}
        <span class="item-about">
          {i18n.t("{count, plural, one {# subscriber} other {# subscribers}}", { count: subscriber_count ?? 0 })}
          {traffic === null || traffic === undefined ? null : ` · ${i18n.t("{count, plural, one {# message} other {# messages}} a week", { count: traffic })}`}
          {description ? ` · ${description}` : null}
        </span>
      </div>
      <a class="button small" href={channelAddress(channel.stream_id)} aria-label={i18n.t("Open {name}", { name })}>
        {i18n.t("Open")}
      </a>
      {is_subscribed ? (
        <ActionButton kind="small" name={i18n.t("Leave")} label={i18n.t("Leave {name}", { name })} done=" " action={() => leave(channel)} />
      ) : (
        <ActionButton
          kind="small"
          name={i18n.t("Join")}
          label={i18n.t("Join {name}", { name })}
          done=" "
          reason={whyNotJoin(channel)}
          action={() => join(channel)}
        />
      )}
    </div>
  );
}
