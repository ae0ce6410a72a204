import { useEffect, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { get } from "../../protocol/client";
import type { Delivery } from "../../protocol/types";
import { shortTime } from "../../ui/time";

const ASKED_EVERY_MS = 3000;
const WAITED_MS = 15 * 60 * 1000;

/** Wait for deliveries to the bot, and say what became of the last one. */
export function LastDelivery({ botId, names }: { botId: number; names: ReadonlyMap<string, string> }) {
  const [last, setLast] = useState<Delivery | null>();
  useEffect(() => {
    const ask = () => get<{ last_delivery: Delivery | null }>(`/bots/${botId}/last_delivery`).then(({ last_delivery: found }) => setLast(found), () => undefined);
    void ask();
    const asking = setInterval(() => void ask(), ASKED_EVERY_MS);
    const waiting = setTimeout(() => clearInterval(asking), WAITED_MS);
    return () => {
      clearInterval(asking);
      clearTimeout(waiting);
    };
  }, [botId]);
  if (last === undefined) return null;
  return (
    <p role="status" class={last && isRefused(last) ? "problem" : "faded"}>
      {last ? sentence(last, names.get(last.service) ?? last.service) : i18n.t("Waiting for the first delivery. Send a test from the service, if it has one.")}
    </p>
  );
}

function isRefused({ outcome }: Delivery): boolean {
  return outcome === "malformed" || outcome === "refused";
}

function sentence({ outcome, received_at: at }: Delivery, service: string): string {
  const parts = { service, time: shortTime(at) };
  if (outcome === "message") return i18n.t("A delivery of {service} came at {time}.", parts);
  if (outcome === "refused") return i18n.t("A delivery of {service} came at {time}, and was not signed with the secret.", parts);
  if (outcome === "malformed") return i18n.t("A delivery came at {time}, and is not what {service} sends.", parts);
  return i18n.t("A delivery of {service} came at {time}. Such events are not posted.", parts);
}
