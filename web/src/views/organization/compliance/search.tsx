import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { post } from "../../../protocol/client";
import type { Answer, ComplianceMessage } from "../../../protocol/types";
import { fullTime, shortTime } from "../../../ui/time";
import { byName } from "../channel-set";
import { userName } from "../../settings/parts/names";
import { PeoplePicker } from "../../settings/parts/people-picker";
import { SaveNote, useSubmit } from "../../settings/parts/saving";
import { beginningOf, endOf } from "./moments";
import { takesAll } from "./people";

type Page = Answer<"POST /compliance/cases/{case_id}/search">;

interface Found {
  /** The search that was made, for its further pages. */
  query: Record<string, unknown>;
  messages: ComplianceMessage[];
  next: number | null;
}

/** Search all messages of the organization in an open case. */
export function Search({ caseId }: { caseId: number }) {
  const [words, setWords] = useState("");
  const [channel, setChannel] = useState("");
  const [sender, setSender] = useState<number>();
  const [first, setFirst] = useState("");
  const [last, setLast] = useState("");
  const [found, setFound] = useState<Found>();
  const [saving, run] = useSubmit();
  const ask = async (query: Record<string, unknown>, shown: ComplianceMessage[], before?: number) => {
    const page = await post<Page>(`/compliance/cases/${caseId}/search`, { ...query, before });
    setFound({ query, messages: [...shown, ...page.messages], next: page.next_before });
  };
  const search = () => {
    const narrow = [
      ...(words.trim() ? [{ operator: "search", operand: words }] : []),
      ...(channel ? [{ operator: "channel", operand: Number(channel) }] : []),
      ...(sender === undefined ? [] : [{ operator: "sender", operand: sender }]),
    ];
    return ask({ narrow, since: beginningOf(first), until: endOf(last) }, []);
  };
  return (
    <>
      <form
        class="small-form"
        role="search"
        aria-label={i18n.t("Search all messages")}
        onSubmit={(event) => {
          event.preventDefault();
          void run(search);
        }}
      >
        <label>
          <span>{i18n.t("Words")}</span>
          <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
        </label>
        <label>
          <span>{i18n.t("In the channel")}</span>
          <select value={channel} onChange={(event) => setChannel(event.currentTarget.value)}>
            <option value="">{i18n.t("All channels and direct messages")}</option>
            {byName(state().channels.values()).map(({ stream_id, name }) => (
              <option key={stream_id} value={String(stream_id)}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <div>
          <span class="field-name">{i18n.t("Sent by")}</span>
          <PeoplePicker label={i18n.t("Sent by")} chosen={sender === undefined ? [] : [sender]} unfit={takesAll} onChange={(ids) => setSender(ids.at(-1))} />
        </div>
        <label>
          <span>{i18n.t("Sent from this day on (optional)")}</span>
          <input type="date" value={first} onInput={(event) => setFirst(event.currentTarget.value)} />
        </label>
        <label>
          <span>{i18n.t("Sent until this day (optional)")}</span>
          <input type="date" value={last} onInput={(event) => setLast(event.currentTarget.value)} />
        </label>
        <div class="form-actions">
          <button type="submit">{i18n.t("Search all messages")}</button>
          <SaveNote saving={saving} done=" " />
        </div>
      </form>
      {found ? (
        <>
          <ul class="item-list" aria-label={i18n.t("Messages found")}>
            {found.messages.map((each) => (
              <li key={each.id}>
                <Message of={each} />
              </li>
            ))}
          </ul>
          <p class="faded" role="status">
            {found.next === null ? i18n.t("{count, plural, =0 {No message was found.} one {# message was found.} other {# messages were found.}}", { count: found.messages.length }) : null}
          </p>
          {found.next === null ? null : (
            <button type="button" class="small" onClick={() => void run(() => ask(found.query, found.messages, found.next!))}>
              {i18n.t("Show more")}
            </button>
          )}
        </>
      ) : null}
    </>
  );
}

function placeOf({ stream, topic, user_ids }: ComplianceMessage): string {
  return stream === null ? (user_ids ?? []).map(userName).join(", ") : `#${stream} > ${topic || state().fields.realm_empty_topic_display_name || ""}`;
}

function Message({ of: message }: { of: ComplianceMessage }) {
  const { sender_full_name, timestamp, content, former_contents, edited_at, deleted_at, deleter_id } = message;
  return (
    <div class="item">
      <div class="item-text">
        <strong>{sender_full_name}</strong> <bdi>{placeOf(message)}</bdi>
        <time class="item-about" dateTime={new Date(timestamp * 1000).toISOString()} title={fullTime(timestamp)}>
          {shortTime(timestamp)}
          {edited_at === null ? null : <> · {i18n.t("edited {time}", { time: shortTime(edited_at) })}</>}
        </time>
        {deleted_at === null ? null : (
          <span class="tag">
            {deleter_id === null ? i18n.t("Deleted {time}", { time: shortTime(deleted_at) }) : i18n.t("Deleted by {name}, {time}", { name: userName(deleter_id), time: shortTime(deleted_at) })}
          </span>
        )}
        <p class="found-text" dir="auto">
          {content}
        </p>
        {former_contents.length ? (
          <details>
            <summary class="faded">{i18n.t("Before it was edited")}</summary>
            {former_contents.map((each, index) => (
              <p key={index} class="found-text" dir="auto">
                {each}
              </p>
            ))}
          </details>
        ) : null}
      </div>
    </div>
  );
}
