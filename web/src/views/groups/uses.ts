/** Where a group is used, as the server says that refuses to deactivate it. */

import { state } from "../../app";
import { i18n } from "../../i18n";
import { listed } from "../../model/names";
import { ApiError } from "../../protocol/client";
import { groupName } from "../settings/parts/names";

interface Use {
  type: "subgroup" | "channel" | "user_group" | "realm";
  supergroup_ids?: number[];
  channel_id?: number;
  group_id?: number;
}

/** Return an error that names the uses of a group; the same error if it is of another kind. */
export function withUses(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== "CANNOT_DEACTIVATE_GROUP_IN_USE") return error;
  const uses = (error.details.objections ?? []) as Use[];
  return new Error(`${error.message} ${i18n.t("It is used by: {places}.", { places: listed([...new Set(uses.flatMap(placesOf))]) })}`);
}

function placesOf(use: Use): string[] {
  const { channels, groups } = state();
  const group = (id: number) => i18n.t("group {name}", { name: groupName(groups.get(id)) });
  switch (use.type) {
    case "subgroup":
      return (use.supergroup_ids ?? []).map(group);
    case "user_group":
      return [group(use.group_id!)];
    case "channel": {
      const name = channels.get(use.channel_id ?? 0)?.name;
      return [name === undefined ? i18n.t("a channel that you do not see") : i18n.t("channel {name}", { name })];
    }
    case "realm":
      return [i18n.t("permissions of the organization")];
  }
}
