import { useEffect, useState } from "preact/hooks";
import { onBatch } from "../../app";
import { i18n } from "../../i18n";
import { del, get, post } from "../../protocol/client";
import type { RealmExport } from "../../protocol/types";
import { userName } from "../settings/parts/names";
import { ActionButton } from "../settings/parts/saving";
import { shortTime } from "../../ui/time";

const PUBLIC = "public";
const WITH_CONSENT = "full_with_consent";

function stateOf(shown: RealmExport): string {
  if (shown.failed_timestamp) return i18n.t("Failed");
  if (shown.export_from_prior_server) return i18n.t("Made on a previous server");
  return shown.pending ? i18n.t("Running…") : i18n.t("Ready");
}

/** Exports of the organization's data. */
export function ExportsPanel() {
  const [exports, setExports] = useState<RealmExport[]>([]);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    get<{ exports: RealmExport[] }>("/export/realm").then(
      (answer) => setExports(answer.exports),
      (error: Error) => setProblem(error.message),
    );
    return onBatch((events) => {
      const last = events.filter((each) => each.type === "realm_export").at(-1);
      if (last) setExports(last.exports);
    });
  }, []);
  const shown = exports.filter((each) => !each.deleted_timestamp).sort((one, other) => other.export_time - one.export_time);
  return (
    <>
      <div class="panel-actions">
        <ActionButton kind="primary" name={i18n.t("Export public data")} done={i18n.t("Started")} action={() => post("/export/realm", { export_type: PUBLIC })} />
        <ActionButton
          name={i18n.t("Export with private data of users who consent")}
          done={i18n.t("Started")}
          action={() => post("/export/realm", { export_type: WITH_CONSENT })}
        />
      </div>
      {problem ? <p class="problem">{problem}</p> : null}
      <ul class="item-list" aria-label={i18n.t("Exports")}>
        {shown.map((each) => (
          <li key={each.id}>
            <div class="item">
              <div class="item-text">
                <strong>{shortTime(each.export_time)}</strong>
                <span class="tag">{each.export_type === PUBLIC ? i18n.t("Public data") : i18n.t("With private data")}</span>
                <span class="item-about">
                  {userName(each.acting_user_id)} · {stateOf(each)}
                </span>
              </div>
              {each.export_url ? (
                <>
                  <a class="button small" href={each.export_url}>
                    {i18n.t("Download")}
                  </a>
                  <ActionButton kind="small danger" name={i18n.t("Delete")} done=" " action={() => del(`/export/realm/${each.id}`)} />
                </>
              ) : null}
            </div>
          </li>
        ))}
      </ul>
      {shown.length ? null : <p class="faded list-empty">{i18n.t("There are no exports.")}</p>}
    </>
  );
}
