import { state } from "../../app";
import { i18n } from "../../i18n";
import { del, patch, post } from "../../protocol/client";
import type { DefaultChannelGroup } from "../../protocol/types";
import { watch } from "../../ui/watch";
import { isDefault } from "../channels/requests";
import { FilteredList } from "../settings/parts/table";
import { byName, ChannelSet } from "./channel-set";
import { Entry } from "./entry";
import { type EntryField, EntryForm } from "./entry-form";
import { whyNotAdmin } from "./source";

function fieldsOf(): EntryField[] {
  return [
    { name: "name", label: i18n.t("Name"), max: 60 },
    { name: "description", label: i18n.t("Description"), max: 1024 },
  ];
}

/** Groups of channels among which new users choose when they join. */
export function ChannelGroups() {
  watch("realm", "channels");
  const groups = (state().fields.realm_default_stream_groups ?? []) as DefaultChannelGroup[];
  const reason = whyNotAdmin();
  return (
    <section class="setting-section">
      <h4>{i18n.t("Groups of channels to choose from")}</h4>
      <p class="faded">{i18n.t("People who join choose among these groups, and are subscribed to the channels of those that they choose.")}</p>
      {reason ? null : (
        <EntryForm
          action={i18n.t("Add group")}
          fields={fieldsOf()}
          save={({ name, description }) => post("/default_stream_groups/create", { group_name: name, description, stream_names: [] })}
        />
      )}
      <FilteredList
        name={i18n.t("Groups of channels to choose from")}
        items={groups}
        keyOf={({ id }) => id}
        textOf={({ name, description }) => `${name} ${description}`}
        empty={i18n.t("There are none yet.")}
        row={(group) => <GroupEntry group={group} reason={reason} />}
      />
    </section>
  );
}

function GroupEntry({ group, reason }: { group: DefaultChannelGroup; reason: string | undefined }) {
  const { id, name, description, streams } = group;
  const path = `/default_stream_groups/${id}`;
  const channels = byName(streams.flatMap((each) => state().channels.get(each) ?? []));
  const others = byName([...state().channels.values()].filter((each) => !streams.includes(each.stream_id) && !each.is_archived && !isDefault(each)));
  return (
    <Entry
      name={name}
      about={description}
      reason={reason}
      remove={() => del(path)}
      editing={{
        fields: fieldsOf(),
        values: { name, description },
        save: (values) => patch(path, { new_group_name: values.name, new_description: values.description }),
      }}
      more={
        <ChannelSet
          name={name}
          channels={channels}
          others={others}
          reason={reason}
          add={(channel) => patch(`${path}/streams`, { op: "add", stream_names: [channel.name] })}
          remove={(channel) => patch(`${path}/streams`, { op: "remove", stream_names: [channel.name] })}
        />
      }
    />
  );
}
