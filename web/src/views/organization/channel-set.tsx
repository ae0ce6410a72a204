import { useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import type { Channel } from "../../model/state";
import { ChannelIcon } from "../../ui/icons";
import { ActionButton } from "../settings/parts/saving";

interface ChannelSetProps {
  /** The accessible name of the list. */
  name: string;
  channels: readonly Channel[];
  /** Those that may be added. */
  others: readonly Channel[];
  add: (channel: Channel) => Promise<unknown>;
  remove: (channel: Channel) => Promise<unknown>;
  /** Why the user may not change it. */
  reason?: string | undefined;
}

export function byName(channels: Iterable<Channel>): Channel[] {
  return [...channels].sort((one, other) => COLLATOR.compare(one.name, other.name));
}

/** Channels that belong to something: each can be removed, and others be added. */
export function ChannelSet({ name, channels, others, add, remove, reason }: ChannelSetProps) {
  const [chosen, setChosen] = useState("");
  const found = others.find((each) => String(each.stream_id) === chosen);
  return (
    <div class="channel-set">
      <ul class="chips" aria-label={name}>
        {channels.map((each) => (
          <li key={each.stream_id} class="chip">
            <ChannelIcon channel={each} />
            {each.name}
            {reason ? null : (
              <ActionButton kind="small" name={i18n.t("Take out")} label={i18n.t("Take out: {channel}, {name}", { channel: each.name, name })} done=" " action={() => remove(each)} />
            )}
          </li>
        ))}
      </ul>
      {channels.length ? null : <p class="faded">{i18n.t("No channels yet.")}</p>}
      {reason || !others.length ? null : (
        <div class="add-row">
          <select aria-label={i18n.t("Channel for {name}", { name })} value={found ? chosen : ""} onChange={(event) => setChosen(event.currentTarget.value)}>
            <option value="">{i18n.t("Choose a channel")}</option>
            {others.map((each) => (
              <option key={each.stream_id} value={String(each.stream_id)}>
                {each.name}
              </option>
            ))}
          </select>
          <ActionButton
            kind="small"
            name={i18n.t("Add")}
            label={i18n.t("Add a channel to {name}", { name })}
            done=" "
            reason={found ? undefined : i18n.t("Choose a channel")}
            action={async () => {
              await add(found!);
              setChosen("");
            }}
          />
        </div>
      )}
    </div>
  );
}
