/** People as they are named in a text: pasted lists of names and addresses. */

import { i18n } from "../../../i18n";
import { foldText } from "../../../model/counts";
import type { User } from "../../../model/state";

const SEPARATORS = /[\n\r\t,;]+/;
const ADDRESS = /<([^<>\s]+@[^<>\s]+)>/;
const MENTION = /^@_?\*\*(.+?)(?:\|(\d+))?\*\*$/;

export interface Refused {
  name: string;
  reason: string;
}

export interface Found {
  ids: number[];
  refused: Refused[];
}

/** Return the parts of a text that each name one person; addresses count alone, spaces between them too. */
export function partsOfText(text: string): string[] {
  const parts = text.split(SEPARATORS).flatMap((line) => {
    const part = line.trim();
    const words = part.split(/\s+/);
    return words.length > 1 && words.every((word) => word.includes("@")) && !part.includes("<") && !MENTION.test(part) ? words : [part];
  });
  return [...new Set(parts.filter(Boolean))];
}

/** Why a person cannot be chosen; undefined if they can. */
export type Unfit = (user: User, without?: ReadonlySet<number>) => string | undefined;

/** Return why a person cannot be added to something; undefined if they can. */
export function whyUnfit(user: User, without?: ReadonlySet<number>): string | undefined {
  if (!user.is_active) return i18n.t("is deactivated");
  if (user.is_system_bot) return i18n.t("belongs to the server");
  return without?.has(user.user_id) ? i18n.t("is in already") : undefined;
}

function usersNamed(part: string, users: ReadonlyMap<number, User>): User[] {
  const [, mentioned, id] = MENTION.exec(part) ?? [];
  if (id) return [users.get(Number(id)) ?? []].flat();
  const wanted = foldText(ADDRESS.exec(part)?.[1] ?? mentioned ?? part.replace(/^@/, ""));
  const all = [...users.values()];
  const byAddress = all.filter((user) => wanted.includes("@") && [user.delivery_email, user.email].some((each) => each && foldText(each) === wanted));
  if (byAddress.length) return byAddress;
  const byName = all.filter((user) => foldText(user.full_name) === wanted);
  const active = byName.filter((user) => user.is_active);
  return active.length ? active : byName;
}

/** Return the people that a text names, and what of it names no one who can be chosen. */
export function peopleNamed(text: string, users: ReadonlyMap<number, User>, without?: ReadonlySet<number>, unfit: Unfit = whyUnfit): Found {
  const ids = new Set<number>();
  const refused: Refused[] = [];
  for (const part of partsOfText(text)) {
    const found = usersNamed(part, users);
    const [user] = found;
    if (!user) refused.push({ name: part, reason: i18n.t("is not known here") });
    else if (found.length > 1) refused.push({ name: part, reason: i18n.t("is the name of several people: choose one, or use the email address") });
    else {
      const reason = unfit(user, without);
      if (reason) refused.push({ name: user.full_name, reason });
      else ids.add(user.user_id);
    }
  }
  return { ids: [...ids], refused };
}
