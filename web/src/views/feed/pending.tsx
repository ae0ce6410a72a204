import { outbox, state } from "../../app";
import { i18n } from "../../i18n";
import { userName } from "../../model/names";
import type { Pending } from "../../sync/outbox";
import { MessageHtml } from "../../ui/message-html";
import { insert, open } from "../compose/target";

/** Messages that are being sent, below those that the server has. */
export function PendingMessages({ pending }: { pending: readonly Pending[] }) {
  if (!pending.length) return null;
  return (
    <div class="pending">
      {pending.map((each) => (
        <PendingMessage key={each.outgoing.localId} pending={each} />
      ))}
    </div>
  );
}

function PendingMessage({ pending: { outgoing, echo } }: { pending: Pending }) {
  const { status, error, localId } = outgoing;
  const isFailed = status === "failed";
  const editAgain = () => {
    const given = outbox.discard(localId);
    if (!given) return;
    open(given.to);
    insert(given.content);
  };
  return (
    <div class={`message-grid pending-message ${isFailed ? "is-failed" : ""}`} data-status={status}>
      <span class="message-avatar">{echo.avatar_url ? <img src={echo.avatar_url} alt="" width={36} height={36} /> : null}</span>
      <div class="message-main">
        <div class="message-head">
          <span class="message-sender">{userName(state(), state().userId)}</span>
          <span class="message-time">{isFailed ? i18n.t("Not sent") : status === "waiting" ? i18n.t("Waiting to be sent") : i18n.t("Sending")}</span>
        </div>
        <MessageHtml html={echo.content} />
        {isFailed || status === "waiting" ? (
          <p class="pending-state" role={isFailed ? "alert" : undefined}>
            {error ? <span>{error} </span> : null}
            <button type="button" onClick={() => outbox.retry(localId)}>{i18n.t("Try again")}</button>{" "}
            <button type="button" onClick={editAgain}>{i18n.t("Edit")}</button>{" "}
            {isFailed ? <button type="button" onClick={() => outbox.discard(localId)}>{i18n.t("Discard")}</button> : null}
          </p>
        ) : null}
      </div>
    </div>
  );
}
