import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { post } from "../../../protocol/client";
import type { Answer, ShownHold } from "../../../protocol/types";
import { shortDate, shortTime } from "../../../ui/time";
import { byName, ChannelSet } from "../channel-set";
import { useAnswer } from "../../settings/parts/answer";
import { userName } from "../../settings/parts/names";
import { PeoplePicker } from "../../settings/parts/people-picker";
import { SaveNote, useSubmit } from "../../settings/parts/saving";
import { beginningOf, endOf } from "./moments";
import { takesAll } from "./people";

/** Data that is kept as evidence, whatever users and retention do. */
export function LegalHolds() {
  const { answer, problem, ask } = useAnswer<Answer<"GET /compliance/legal_holds">>("/compliance/legal_holds");
  const [isPlacing, setPlacing] = useState(false);
  const holds = answer?.legal_holds ?? [];
  return (
    <section class="setting-section">
      <h4>{i18n.t("Legal holds")}</h4>
      <p class="faded">{i18n.t("A hold keeps messages and files as evidence: retention leaves them, and what users delete is kept for as long as the hold is active.")}</p>
      {problem ? <p class="problem">{problem}</p> : null}
      <ul class="item-list" aria-label={i18n.t("Legal holds")}>
        {holds.map((each) => (
          <li key={each.id}>
            <Item of={each} onDone={ask} />
          </li>
        ))}
      </ul>
      {answer && !holds.length ? <p class="faded list-empty">{i18n.t("There are no legal holds.")}</p> : null}
      {isPlacing ? (
        <Place onDone={() => ask().then(() => setPlacing(false))} onCancel={() => setPlacing(false)} />
      ) : (
        <div class="panel-actions">
          <button type="button" onClick={() => setPlacing(true)}>
            {i18n.t("Place a legal hold")}
          </button>
        </div>
      )}
    </section>
  );
}

function scopeOf({ whole_organization, user_ids, channel_ids }: ShownHold): string {
  if (whole_organization) return i18n.t("The whole organization");
  const channels = channel_ids.map((id) => `#${state().channels.get(id)?.name ?? id}`);
  return [...user_ids.map(userName), ...channels].join(", ");
}

/** The days of sending that it covers; null for all. Its end is the first second after them. */
function daysOf({ sent_from: from, sent_until: until }: ShownHold): string | null {
  const last = until === null ? null : shortDate(until - 1);
  if (from === null) return last === null ? null : i18n.t("sent until {last}", { last });
  return last === null ? i18n.t("sent from {first} on", { first: shortDate(from) }) : i18n.t("sent from {first} to {last}", { first: shortDate(from), last });
}

function Item({ of: hold, onDone }: { of: ShownHold; onDone: () => Promise<void> }) {
  const [isReleasing, setReleasing] = useState(false);
  const { name, reason, creator_id, created_at, releaser_id, released_at, release_reason } = hold;
  return (
    <>
      <div class="item">
        <div class="item-text">
          <strong>
            <bdi>{name}</bdi>
          </strong>
          <span class="tag">{released_at === null ? i18n.t("Active") : i18n.t("Released")}</span>
          <span class="item-about">{[scopeOf(hold), daysOf(hold)].filter(Boolean).join(" · ")}</span>
          <dl class="facts">
            <dt>{i18n.t("Reason")}</dt>
            <dd dir="auto">{reason}</dd>
            <dt>{i18n.t("Placed")}</dt>
            <dd>
              {userName(creator_id)}, {shortTime(created_at)}
            </dd>
            {released_at === null ? null : (
              <>
                <dt>{i18n.t("Released")}</dt>
                <dd dir="auto">
                  {userName(releaser_id)}, {shortTime(released_at)}: {release_reason}
                </dd>
              </>
            )}
          </dl>
        </div>
        {released_at === null && !isReleasing ? (
          <button type="button" class="small danger" aria-label={i18n.t("Release the hold {name}", { name })} onClick={() => setReleasing(true)}>
            {i18n.t("Release…")}
          </button>
        ) : null}
      </div>
      {isReleasing && released_at === null ? <Release id={hold.id} onDone={onDone} onCancel={() => setReleasing(false)} /> : null}
    </>
  );
}

function Release({ id, onDone, onCancel }: { id: number; onDone: () => Promise<void>; onCancel: () => void }) {
  const [reason, setReason] = useState("");
  const [saving, run] = useSubmit();
  return (
    <form
      class="small-form"
      data-unsaved={reason ? "" : undefined}
      onSubmit={(event) => {
        event.preventDefault();
        void run(() => post(`/compliance/legal_holds/${id}/release`, { reason }).then(onDone));
      }}
    >
      <label>
        <span>{i18n.t("Reason of the release")}</span>
        <textarea required maxLength={2000} rows={2} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <p class="faded">{i18n.t("What was deleted meanwhile goes within an hour, unless another hold covers it.")}</p>
      <div class="form-actions">
        <button type="submit" class="danger">
          {i18n.t("Release the hold")}
        </button>
        <button type="button" onClick={onCancel}>
          {i18n.t("Cancel")}
        </button>
        <SaveNote saving={saving} />
      </div>
    </form>
  );
}

function Place({ onDone, onCancel }: { onDone: () => Promise<void>; onCancel: () => void }) {
  const [name, setName] = useState("");
  const [reason, setReason] = useState("");
  const [isWhole, setWhole] = useState(false);
  const [people, setPeople] = useState<number[]>([]);
  const [channels, setChannels] = useState<number[]>([]);
  const [first, setFirst] = useState("");
  const [last, setLast] = useState("");
  const [saving, run] = useSubmit();
  const place = () => {
    const scope = isWhole ? { whole_organization: true } : { user_ids: people, channel_ids: channels };
    return post("/compliance/legal_holds", { name, reason, ...scope, sent_from: beginningOf(first), sent_until: endOf(last) }).then(onDone);
  };
  const known = byName(state().channels.values());
  return (
    <form
      class="small-form"
      data-unsaved={name || reason ? "" : undefined}
      onSubmit={(event) => {
        event.preventDefault();
        void run(place);
      }}
    >
      <label>
        <span>{i18n.t("Name of the hold")}</span>
        <input required maxLength={100} value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <label>
        <span>{i18n.t("Reason")}</span>
        <textarea required maxLength={2000} rows={2} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
      </label>
      <label>
        <input type="checkbox" checked={isWhole} onChange={(event) => setWhole(event.currentTarget.checked)} /> {i18n.t("The whole organization")}
      </label>
      {isWhole ? null : (
        <>
          <div>
            <span class="field-name">{i18n.t("People whose data is held")}</span>
            <PeoplePicker label={i18n.t("People whose data is held")} chosen={people} takesMany unfit={takesAll} onChange={setPeople} />
          </div>
          <div>
            <span class="field-name">{i18n.t("Channels that are held")}</span>
            <ChannelSet
              name={i18n.t("Channels that are held")}
              channels={known.filter(({ stream_id }) => channels.includes(stream_id))}
              others={known.filter(({ stream_id }) => !channels.includes(stream_id))}
              add={async ({ stream_id }) => setChannels([...channels, stream_id])}
              remove={async ({ stream_id }) => setChannels(channels.filter((each) => each !== stream_id))}
            />
          </div>
        </>
      )}
      <label>
        <span>{i18n.t("Sent from this day on (optional)")}</span>
        <input type="date" value={first} onInput={(event) => setFirst(event.currentTarget.value)} />
      </label>
      <label>
        <span>{i18n.t("Sent until this day (optional)")}</span>
        <input type="date" value={last} onInput={(event) => setLast(event.currentTarget.value)} />
      </label>
      <div class="form-actions">
        <button type="submit" class="primary">
          {i18n.t("Place the hold")}
        </button>
        <button type="button" onClick={onCancel}>
          {i18n.t("Cancel")}
        </button>
        <SaveNote saving={saving} />
      </div>
    </form>
  );
}
