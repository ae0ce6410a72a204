/** Why the server does not change some of several messages. */

import { ApiError } from "../../protocol/client";

export interface Refused {
  ids: ReadonlySet<number>;
  /** The reasons, as sentences. */
  text: string;
}

/** Return which messages an error is about; undefined if it is about the request as a whole. */
export function refusedBy(error: unknown): Refused | undefined {
  if (!(error instanceof ApiError) || error.code !== "MESSAGES_REFUSED") return undefined;
  const refused = error.details.refused as { msg: string; message_ids: number[] }[];
  return {
    ids: new Set(refused.flatMap((each) => each.message_ids)),
    text: refused.map(({ msg }) => msg.replace(/\.?$/, ".")).join(" "),
  };
}
