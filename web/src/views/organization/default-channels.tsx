import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { del, post } from "../../protocol/client";
import { ChannelIcon } from "../../ui/icons";
import { watch } from "../../ui/watch";
import { isDefault } from "../channels/requests";
import { ActionButton } from "../settings/parts/saving";
import { FilteredList } from "../settings/parts/table";
import { ChannelGroups } from "./channel-groups";
import { whyNotAdmin } from "./source";

/** The channels that new users are subscribed to. */
export function DefaultChannelsPanel() {
  watch("realm", "channels");
  const [chosen, setChosen] = useState("");
  const channels = [...state().channels.values()].filter((each) => !each.is_archived).sort((one, other) => COLLATOR.compare(one.name, other.name));
  const reason = whyNotAdmin();
  return (
    <>
      <FilteredList
        name={i18n.t("Default channels")}
        items={channels.filter(isDefault)}
        keyOf={(each) => each.stream_id}
        textOf={(each) => each.name}
        empty={i18n.t("New users are subscribed to no channel.")}
        row={(each) => (
          <div class="item">
            <ChannelIcon channel={each} />
            <div class="item-text">
              <a class="item-name" href={`#channels/${each.stream_id}/general`}>
                {each.name}
              </a>
            </div>
            {reason ? null : (
              <ActionButton
                kind="small"
                name={i18n.t("Remove")}
                label={i18n.t("Remove {name}", { name: each.name })}
                done=" "
                action={() => del("/default_streams", { stream_id: each.stream_id })}
              />
            )}
          </div>
        )}
      >
        {reason ? null : (
          <>
            <select aria-label={i18n.t("Channel")} value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
              <option value="">{i18n.t("Choose a channel")}</option>
              {channels
                .filter((each) => !isDefault(each) && !each.invite_only)
                .map((each) => (
                  <option key={each.stream_id} value={String(each.stream_id)}>
                    {each.name}
                  </option>
                ))}
            </select>
            <ActionButton
              kind="primary"
              name={i18n.t("Add")}
              reason={chosen ? undefined : i18n.t("Choose a channel")}
              action={async () => {
                await post("/default_streams", { stream_id: Number(chosen) });
                setChosen("");
              }}
            />
          </>
        )}
      </FilteredList>
      <ChannelGroups />
    </>
  );
}
