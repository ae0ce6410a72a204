import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { get } from "../../protocol/client";
import type { AuditEntry } from "../../protocol/types";
import { richly } from "../../ui/rich-text";
import { fullTime, shortTime } from "../../ui/time";
import { watch } from "../../ui/watch";
import { groupName, userName } from "../settings/parts/names";
import { PeoplePicker } from "../settings/parts/people-picker";
import { SaveNote, useSaving } from "../settings/parts/saving";
import { sentenceOf } from "./audit-sentences";
import { changesOf } from "./audit-values";

const PAGE = 50;
const SHOWN_OPEN = 2;

/** What administrators and others have changed, newest first; of one person where one is chosen. */
export function AuditLog() {
  watch("users", "channels", "groups", "folders", "realm");
  const [entries, setEntries] = useState<AuditEntry[]>([]);
  const [isEnd, setEnd] = useState(false);
  const [actor, setActor] = useState<number>();
  const [saving, run] = useSaving();
  const load = (shown: AuditEntry[]) =>
    run(async () => {
      const before = shown.at(-1)?.id;
      const answer = await get<{ entries: AuditEntry[] }>("/realm/audit_log", {
        limit: PAGE,
        ...(before === undefined ? {} : { before }),
        ...(actor === undefined ? {} : { actor_id: actor }),
      });
      setEntries([...shown, ...answer.entries]);
      setEnd(answer.entries.length < PAGE);
    });
  useEffect(() => {
    setEntries([]);
    void load([]);
  }, [actor]);
  return (
    <>
      <div class="list-tools">
        <PeoplePicker label={i18n.t("Only changes made by")} chosen={actor === undefined ? [] : [actor]} onChange={(ids) => setActor(ids.at(-1))} />
      </div>
      <ul class="item-list" aria-label={i18n.t("Audit log")}>
        {entries.map((each) => (
          <li key={each.id}>
            <Entry entry={each} />
          </li>
        ))}
      </ul>
      {isEnd && !entries.length ? <p class="faded list-empty">{i18n.t("Nothing has been changed yet.")}</p> : null}
      {isEnd || !entries.length ? null : (
        <button type="button" class="small" onClick={() => void load(entries)}>
          {i18n.t("Show more")}
        </button>
      )}
      <SaveNote saving={saving} done=" " />
    </>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  return (
    <div class="item">
      <div class="item-text">
        <span class="audit-sentence">
          {richly((marks) => sentenceOf(entry, marks), { actor: <Actor id={entry.actor_id} />, subject: <Subject entry={entry} /> })}
        </span>
        <time class="item-about" dateTime={new Date(entry.timestamp * 1000).toISOString()} title={fullTime(entry.timestamp)}>
          {shortTime(entry.timestamp)}
        </time>
        <Changes entry={entry} />
      </div>
    </div>
  );
}

function Actor({ id }: { id: number | null }) {
  return id === null ? <>{i18n.t("The server")}</> : <PersonLink id={id} />;
}

function PersonLink({ id }: { id: number }) {
  return state().users.has(id) ? <a href={`#user/${id}`}>{userName(id)}</a> : <>{i18n.t("User {id}", { id })}</>;
}

/** What was changed, with a link to where it is found. */
function Subject({ entry }: { entry: AuditEntry }) {
  const { subject_id: id, subject_type: type, before, after } = entry;
  const given = [after.name, before.name, after.pattern, before.pattern].find((each) => typeof each === "string") as string | undefined;
  if (id === null) return <>{given ?? state().fields.realm_name}</>;
  const link = (name: ComponentChildren, href: string) => <a href={href}>{name}</a>;
  switch (type) {
    case "user":
      return <PersonLink id={id} />;
    case "channel": {
      const channel = state().channels.get(id);
      return channel ? link(channel.name, `#channels/${id}/general`) : <>{given ?? i18n.t("Channel {id}", { id })}</>;
    }
    case "group": {
      const group = state().groups.get(id);
      return group ? link(groupName(group), `#groups/${id}/general`) : <>{given ?? i18n.t("Group {id}", { id })}</>;
    }
    case "channel_folder":
      return link(state().folders.get(id)?.name ?? given ?? String(id), "#organization/folders");
    case "default_channel_group":
      return link(given ?? (state().fields.realm_default_stream_groups ?? []).find((each) => each.id === id)?.name ?? String(id), "#organization/default-channels");
    case "profile_field":
      return link(given ?? (state().fields.custom_profile_fields ?? []).find((each) => each.id === id)?.name ?? String(id), "#organization/fields");
    case "emoji":
      return link(given ?? String(id), "#organization/emoji");
    case "linkifier":
      return link(given ?? String(id), "#organization/linkifiers");
    case "playground":
      return link(given ?? String(id), "#organization/playgrounds");
    case "realm_import":
      return link(given ?? String(id), "#organization/imports");
    case "realm_export":
      return link(String(id), "#organization/exports");
    default:
      return <>{given ?? String(id)}</>;
  }
}

/** The values before and after; many are folded away. */
function Changes({ entry }: { entry: AuditEntry }) {
  const changes = changesOf(entry);
  if (!changes.length) return null;
  return (
    <details open={changes.length <= SHOWN_OPEN}>
      <summary class="faded">{i18n.t("Changes")}</summary>
      <dl class="facts">
        {changes.map(({ name, before, after }) => (
          <>
            <dt>{name}</dt>
            <dd>
              {before === undefined ? null : <del><bdi>{before}</bdi></del>}
              {before !== undefined && after !== undefined ? <span class="audit-arrow" aria-hidden="true" /> : null}
              {after === undefined ? null : <ins><bdi>{after}</bdi></ins>}
            </dd>
          </>
        ))}
      </dl>
    </details>
  );
}
