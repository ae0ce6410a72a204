import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { post } from "../../protocol/client";
import { channelAddress, closeDialog, go } from "../../router";
import { Dialog } from "../../ui/dialog";
import { watch } from "../../ui/watch";
import { PeoplePicker } from "../settings/parts/people-picker";
import { SaveNote, useSaving } from "../settings/parts/saving";
import { PRIVACIES, privacyOptions, whyNotCreate, type Privacy } from "./permissions";

/** The form of a new channel. */
export function CreateChannel() {
  watch("realm", "folders", "users");
  const { fields, folders, userId } = state();
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const allowed = privacyOptions().filter(([each]) => !whyNotCreate(each));
  const [privacy, setPrivacy] = useState<Privacy>(allowed[0]?.[0] ?? "public");
  const [folder, setFolder] = useState("");
  const [people, setPeople] = useState<number[]>([]);
  const [announce, setAnnounce] = useState(true);
  const [saving, run] = useSaving();
  const reason = allowed.length ? undefined : whyNotCreate("public");
  const announcements = fields.realm_new_stream_announcements_stream_id ?? -1;
  const canAnnounce = announcements > 0 && !PRIVACIES[privacy].isPrivate;
  const create = async () => {
    let id = 0;
    const { isPrivate, ...rest } = PRIVACIES[privacy];
    const isDone = await run(async () => {
      const answer = await post<{ id: number }>("/channels/create", {
        name: name.trim(),
        description,
        subscribers: [userId, ...people],
        invite_only: isPrivate,
        ...rest,
        ...(folder ? { folder_id: Number(folder) } : {}),
        announce: canAnnounce && announce,
      });
      id = answer.id;
    });
    if (isDone) go(channelAddress(id));
  };
  return (
    <Dialog
      title={i18n.t("Create channel")}
      onClose={closeDialog}
      footer={
        <>
          <SaveNote saving={saving} />
          <a class="button" href="#channels/available">
            {i18n.t("Cancel")}
          </a>
          <button type="submit" form="create-channel" class="primary" aria-disabled={!name.trim() || Boolean(reason) || undefined} title={reason}>
            {i18n.t("Create")}
          </button>
        </>
      }
    >
      <form
        id="create-channel"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() && !reason && saving.kind !== "saving") void create();
        }}
      >
        {reason ? <p class="problem">{reason}</p> : null}
        <label class="field">
          <span>{i18n.t("Name")}</span>
          <input
            type="text"
            data-autofocus
            required
            autocomplete="off"
            maxLength={fields.max_stream_name_length}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>{i18n.t("Description")}</span>
          <textarea rows={2} maxLength={fields.max_stream_description_length} value={description} onInput={(event) => setDescription(event.currentTarget.value)} />
        </label>
        <fieldset class="choices">
          <legend>{i18n.t("Privacy")}</legend>
          {privacyOptions().map(([value, label]) => (
            <label key={value} class="choice" title={whyNotCreate(value)}>
              <input type="radio" name="privacy" checked={privacy === value} disabled={Boolean(whyNotCreate(value))} onChange={() => setPrivacy(value)} />
              <span>{label}</span>
            </label>
          ))}
        </fieldset>
        {folders.size ? (
          <label class="field">
            <span>{i18n.t("Folder")}</span>
            <select value={folder} onChange={(event) => setFolder(event.currentTarget.value)}>
              <option value="">{i18n.t("None")}</option>
              {[...folders.values()]
                .filter((each) => !each.is_archived)
                .sort((one, other) => COLLATOR.compare(one.name, other.name))
                .map((each) => (
                  <option key={each.id} value={String(each.id)}>
                    {each.name}
                  </option>
                ))}
            </select>
          </label>
        ) : null}
        <div class="field">
          <span class="field-name">{i18n.t("Add people")}</span>
          <PeoplePicker label={i18n.t("Add people")} chosen={people} onChange={setPeople} without={new Set([userId])} />
        </div>
        {canAnnounce ? (
          <label class="choice">
            <input type="checkbox" checked={announce} onChange={(event) => setAnnounce(event.currentTarget.checked)} />
            <span>
              {i18n.t("Announce it in {channel}", {
                channel: state().channels.get(announcements)?.name ?? i18n.t("the channel for announcements"),
              })}
            </span>
          </label>
        ) : null}
      </form>
    </Dialog>
  );
}
