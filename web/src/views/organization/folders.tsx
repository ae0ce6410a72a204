import { state } from "../../app";
import { i18n } from "../../i18n";
import { patch, post } from "../../protocol/client";
import type { Folder } from "../../model/state";
import { watch } from "../../ui/watch";
import { whyNotAdminister } from "../channels/permissions";
import { saveChannel } from "../channels/requests";
import { ActionButton } from "../settings/parts/saving";
import { FilteredList } from "../settings/parts/table";
import { byName, ChannelSet } from "./channel-set";
import { Entry, MoveButtons, moved } from "./entry";
import { type EntryField, EntryForm } from "./entry-form";
import { whyNotAdmin } from "./source";

function fieldsOf(): EntryField[] {
  const { max_channel_folder_name_length, max_channel_folder_description_length } = state().fields;
  return [
    { name: "name", label: i18n.t("Name"), max: max_channel_folder_name_length },
    { name: "description", label: i18n.t("Description"), max: max_channel_folder_description_length, isOptional: true },
  ];
}

/** Folders, under which everybody's list of channels is grouped. */
export function FoldersPanel() {
  watch("folders", "channels", "realm");
  const all = [...state().folders.values()].sort((one, other) => one.order - other.order || one.id - other.id);
  const active = all.filter((each) => !each.is_archived);
  const reason = whyNotAdmin();
  return (
    <>
      <p class="faded">{i18n.t("Folders group the channels in the list of everybody who has not switched this off.")}</p>
      {reason ? null : <EntryForm action={i18n.t("Add folder")} fields={fieldsOf()} save={(values) => post("/channel_folders/create", values)} />}
      <FilteredList
        name={i18n.t("Channel folders")}
        items={[...active, ...all.filter((each) => each.is_archived)]}
        keyOf={({ id }) => id}
        textOf={({ name, description }) => `${name} ${description}`}
        empty={i18n.t("There are none yet.")}
        row={(folder) => <FolderEntry folder={folder} active={active} all={all} reason={reason} />}
      />
    </>
  );
}

interface FolderEntryProps {
  folder: Folder;
  active: readonly Folder[];
  all: readonly Folder[];
  reason: string | undefined;
}

function FolderEntry({ folder, active, all, reason }: FolderEntryProps) {
  const { id, name, description, is_archived: isArchived } = folder;
  const path = `/channel_folders/${id}`;
  const index = active.indexOf(folder);
  const here = byName([...state().channels.values()].filter((each) => each.folder_id === id && !each.is_archived));
  const movable = byName([...state().channels.values()].filter((each) => each.folder_id !== id && !whyNotAdminister(each) && !each.is_archived));
  // The order names all folders; those that are archived keep their places among the others.
  const move = (to: number) => patch("/channel_folders", { order: moved(all, all.indexOf(folder), all.indexOf(active[to]!)).map((each) => each.id) });
  return (
    <Entry
      name={name}
      about={description}
      reason={reason}
      editing={{ fields: fieldsOf(), values: { name, description }, save: (values) => patch(path, values) }}
      more={
        isArchived ? null : (
          <ChannelSet name={name} channels={here} others={movable} add={(channel) => saveChannel(channel, "folder_id", id)} remove={(channel) => saveChannel(channel, "folder_id", null)} />
        )
      }
    >
      {isArchived ? <span class="tag">{i18n.t("Archived")}</span> : null}
      {reason ? null : (
        <>
          {isArchived ? null : <MoveButtons name={name} index={index} count={active.length} move={move} />}
          <ActionButton
            kind="small"
            name={isArchived ? i18n.t("Bring back") : i18n.t("Archive")}
            label={isArchived ? i18n.t("Bring {name} back", { name }) : i18n.t("Archive {name}", { name })}
            done=" "
            action={() => patch(path, { is_archived: !isArchived })}
          />
        </>
      )}
    </Entry>
  );
}
