import { useEffect, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { del, get, post } from "../../protocol/client";
import type { Answer } from "../../protocol/types";
import { shownSize } from "../../ui/size";
import { shortTime } from "../../ui/time";
import { ActionButton } from "./parts/saving";

type OwnExport = Answer<"GET /users/me/exports">["exports"][number];

const POLL_MS = 2000;

function stateOf({ state, percent, size }: OwnExport): string {
  if (state === "failed") return i18n.t("Failed");
  return state === "ready" ? shownSize(size ?? 0) : i18n.t("Running: {percent} %", { percent });
}

/** Exports of one's own data: started, watched while they are made, downloaded and deleted. */
export function OwnData() {
  const [exports, setExports] = useState<OwnExport[]>();
  const load = () =>
    get<Answer<"GET /users/me/exports">>("/users/me/exports").then(
      (answer) => setExports(answer.exports),
      // A server of the release before has none.
      () => undefined,
    );
  useEffect(() => void load(), []);
  const isPending = exports?.some(({ state }) => state === "pending") ?? false;
  useEffect(() => {
    if (!isPending) return undefined;
    const timer = setInterval(() => void load(), POLL_MS);
    return () => clearInterval(timer);
  }, [isPending]);
  if (!exports) return null;
  return (
    <section class="setting-section">
      <h4>{i18n.t("Your data")}</h4>
      <p class="faded">{i18n.t("Export your profile, settings, messages, direct conversations and files. The file is there for seven days, for you alone.")}</p>
      <div class="panel-actions">
        <ActionButton
          name={i18n.t("Export your data")}
          done={i18n.t("Started")}
          reason={isPending ? i18n.t("An export is being made already.") : undefined}
          action={() => post("/users/me/exports").then(load)}
        />
      </div>
      <ul class="item-list" aria-label={i18n.t("Exports of your data")}>
        {exports.map((each) => (
          <li key={each.id}>
            <div class="item">
              <div class="item-text">
                <strong>{shortTime(each.requested_at)}</strong>
                <span class="item-about">{stateOf(each)}</span>
              </div>
              {each.url ? (
                <a class="button small" href={each.url}>
                  {i18n.t("Download")}
                </a>
              ) : null}
              <ActionButton kind="small danger" name={i18n.t("Delete")} done=" " action={() => del(`/users/me/exports/${each.id}`).then(load)} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
