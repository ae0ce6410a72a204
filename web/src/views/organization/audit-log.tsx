import { useEffect, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { get } from "../../protocol/client";
import type { AuditEntry } from "../../protocol/types";
import { userName } from "../settings/parts/names";
import { SaveNote, useSaving } from "../settings/parts/saving";

const PAGE = 50;

/** What administrators and others have changed, newest first. */
export function AuditLog() {
  const [entries, setEntries] = useState<AuditEntry[]>([]);
  const [isEnd, setEnd] = useState(false);
  const [saving, run] = useSaving();
  const load = () =>
    run(async () => {
      const before = entries.at(-1)?.id;
      const answer = await get<{ entries: AuditEntry[] }>("/realm/audit_log", { limit: PAGE, ...(before === undefined ? {} : { before }) });
      setEntries([...entries, ...answer.entries]);
      setEnd(answer.entries.length < PAGE);
    });
  useEffect(() => void load(), []);
  return (
    <>
      <ul class="item-list" aria-label={i18n.t("Audit log")}>
        {entries.map((each) => (
          <li key={each.id}>
            <div class="item">
              <div class="item-text">
                <strong>{wordsOf(each.action)}</strong> <span class="faded">{each.subject_id}</span>
                <span class="item-about">
                  {each.actor_id ? userName(each.actor_id) : i18n.t("The server")} ·{" "}
                  {new Date(each.timestamp * 1000).toLocaleString(i18n.locale, { dateStyle: "medium", timeStyle: "medium" })}
                </span>
                <Changes before={each.before} after={each.after} />
              </div>
            </div>
          </li>
        ))}
      </ul>
      {isEnd ? null : (
        <button type="button" class="small" onClick={() => void load()}>
          {i18n.t("Show more")}
        </button>
      )}
      <SaveNote saving={saving} done=" " />
    </>
  );
}

/** Return the name of an action as words: `realm_icon_changed` is "Realm icon changed". */
function wordsOf(action: string): string {
  return `${action[0]?.toUpperCase() ?? ""}${action.slice(1).replaceAll("_", " ")}`;
}

function Changes({ before, after }: { before: Record<string, unknown>; after: Record<string, unknown> }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (!names.length) return null;
  const text = (value: unknown) => (value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));
  return (
    <details>
      <summary class="faded">{i18n.t("Changes")}</summary>
      <dl class="facts">
        {names.map((name) => (
          <>
            <dt>{name}</dt>
            <dd>
              {text(before[name])} → {text(after[name])}
            </dd>
          </>
        ))}
      </dl>
    </details>
  );
}
