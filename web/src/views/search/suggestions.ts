/** What the search box suggests. */

import { i18n } from "../../i18n";
import { COLLATOR, foldText } from "../../model/counts";
import { type State, topicKey } from "../../model/state";
import { dayName } from "../../ui/time";
import { dayStart, daysFor } from "./dates";
import { hasWord, quoted, searchFor, type Suggestion, wordsOf } from "./query";

const MAX_SUGGESTIONS = 12;

const FIXED: readonly [string, () => string][] = [
  ["is:unread", () => i18n.t("Unread messages")],
  ["is:mentioned", () => i18n.t("Messages that mention you")],
  ["is:starred", () => i18n.t("Starred messages")],
  ["date:", () => i18n.t("Go to a date")],
  ["is:pinned", () => i18n.t("Pinned messages")],
  ["is:followed", () => i18n.t("Messages in followed topics")],
  ["is:alerted", () => i18n.t("Messages with alert words")],
  ["is:dm", () => i18n.t("Direct messages")],
  ["is:resolved", () => i18n.t("Messages in resolved topics")],
  ["is:muted", () => i18n.t("Messages in muted topics")],
  ["has:link", () => i18n.t("Messages with links")],
  ["has:image", () => i18n.t("Messages with images")],
  ["has:attachment", () => i18n.t("Messages with files")],
  ["has:reaction", () => i18n.t("Messages with reactions")],
];

/** What spectators may search by. */
const FOR_ALL = /^(?:has:|is:resolved)/;

/** Return suggestions for what is written, best first. */
export function suggestionsFor(query: string, state: State, topics: readonly { channelId: number; name: string }[]): Suggestion[] {
  const words = wordsOf(query);
  const last = /\s$/.test(query) || !query ? "" : (words.pop() ?? "");
  const before = words.length ? `${words.join(" ")} ` : "";
  const goesToDate = [...words, last].some((word) => word.startsWith("date:"));
  const found = goesToDate ? [] : searchFor(query);
  const add = (word: string, description: string) => {
    if (!words.includes(word)) found.push({ text: before + word, description });
  };
  const colon = last.indexOf(":");
  const operator = colon > 0 ? last.slice(0, colon).replace(/^-/, "") : "";
  const wanted = foldText((colon > 0 ? last.slice(colon + 1) : last).replace(/"/g, ""));
  const sign = last.startsWith("-") ? "-" : "";
  const begins = (name: string) => hasWord(foldText(name), wanted);
  if (!operator || operator === "is" || operator === "has") {
    for (const [word, describe] of FIXED) {
      if (!state.userId && !FOR_ALL.test(word)) continue;
      if (operator ? word.startsWith(`${operator}:`) && begins(word.split(":")[1]!) : !wanted || (word.split(":")[1] && begins(word.split(":")[1]!)) || word.startsWith(wanted) || hasWord(foldText(describe()), wanted)) {
        add(sign + word, describe());
      }
    }
  }
  // A date is no filter: what is found is shown from there on.
  if (operator === "date") {
    for (const day of daysFor(wanted, Date.now())) add(`date:${day}`, dayName(dayStart(day)! / 1000));
    add("date:", i18n.t("Go to a date"));
  } else if (goesToDate) found.unshift({ text: query.trim(), description: i18n.t("Go to a date") });
  if ((!operator && wanted) || operator === "channel" || operator === "stream") {
    const channels = [...state.channels.values()].filter((each) => begins(each.name));
    channels.sort((one, other) => Number(other.is_subscribed) - Number(one.is_subscribed) || COLLATOR.compare(one.name, other.name));
    for (const { name } of channels.slice(0, 5)) add(`${sign}channel:${quoted(name)}`, i18n.t("Messages in {name}", { name }));
  }
  if ((!operator && wanted) || operator === "topic") {
    const seen = new Set<string>();
    for (const { channelId, name } of topics) {
      if (seen.size >= 5) break;
      const key = topicKey(channelId, name);
      if (!begins(name) || seen.has(key)) continue;
      seen.add(key);
      const channel = state.channels.get(channelId)?.name ?? "";
      const inChannel = words.some((word) => word.startsWith("channel:")) ? "" : `channel:${quoted(channel)} `;
      add(`${inChannel}topic:${quoted(name)}`, i18n.t("Topic {name} in {channel}", { name, channel }));
    }
  }
  if ((!operator && wanted) || ["dm", "dm-including", "sender", "from", "mentions"].includes(operator)) {
    const people = [...state.users.values()].filter((each) => each.is_active && begins(each.full_name)).slice(0, 4);
    for (const { full_name: name } of people) {
      const text = quoted(name);
      if (operator !== "dm" && operator !== "dm-including") add(`${sign}sender:${text}`, i18n.t("Messages sent by {name}", { name }));
      if (!operator || operator === "dm") add(`${sign}dm:${text}`, i18n.t("Direct messages with {name}", { name }));
      if (operator === "dm-including") add(`${sign}dm-including:${text}`, i18n.t("Direct messages that include {name}", { name }));
    }
  }
  const texts = new Set<string>();
  return found.filter((each) => !texts.has(each.text) && texts.add(each.text)).slice(0, MAX_SUGGESTIONS);
}
