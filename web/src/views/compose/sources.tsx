/** Completions of a token, and the text that stands for each. */

import { computed } from "@preact/signals";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { topicName } from "../../model/names";
import { encodeOperand } from "../../model/narrow";
import type { Channel, Group, User } from "../../model/state";
import { channelAddress } from "../../router";
import type { Completion } from "../../ui/completions";
import { Icon } from "../../ui/icons";
import { channelNamed, findChannels, findGroups, findPeople, peopleIndex } from "./directory";
import { emojiVersion, findEmoji } from "../../ui/emoji-data";
import { tone, toned } from "../../ui/emoji-tones";
import { findLanguages } from "./code-languages";
import { ChannelMark, Face } from "./recipients";
import { LARGE_AUDIENCE } from "./rules";
import { best, fold, tierOf } from "../../model/names-index";
import type { Target } from "./target";
import { timeChoices } from "./times";
import type { Token } from "./tokens";
import { findTopics, topicsVersion } from "./topics";

export interface TextCompletion extends Completion {
  /** What replaces the token. */
  text: string;
  /** A channel can be completed further, to one of its topics. */
  channel?: Channel;
}

/** Changes when something was fetched that completions are made of. */
export const fetchedVersion = computed(() => `${topicsVersion.value} ${emojiVersion.value}`);

const LIMIT = 8;
const WILDCARDS = ["all", "everyone", "channel", "stream", "topic"];

/** Return the mention of a user as the protocol writes it: with the id where the name says too little. */
export function mentionOf(user: User, isSilent: boolean): string {
  const at = isSilent ? "@_" : "@";
  const name = user.full_name;
  if (/[*`|\n]/.test(name)) return `${at}**|${user.user_id}**`;
  const isAmbiguous = (peopleIndex().counts.get(name.toLowerCase()) ?? 0) > 1 || WILDCARDS.includes(name.toLowerCase());
  return `${at}**${name}${isAmbiguous ? `|${user.user_id}` : ""}**`;
}

/** Whether a name cannot be written in the syntax of channel and topic links. */
const UNWRITABLE = /[`*>]|&#|\[|\]|\$\$/;

/** Return the link to a channel or topic as the protocol writes it. */
export function linkOf(channel: Channel, topic?: string): string {
  const isPlain = !UNWRITABLE.test(channel.name) && (topic === undefined || !UNWRITABLE.test(topic));
  if (isPlain) return topic === undefined ? `#**${channel.name}**` : `#**${channel.name}>${topic}**`;
  const label = (topic === undefined ? channel.name : `${channel.name} > ${topicName(state(), topic)}`).replace(/[[\]`*]/g, "\\$&");
  const address = channelAddress(channel.stream_id) + (topic === undefined ? "" : `/topic/${encodeOperand(topic)}`);
  return `[#${label}](${address})`;
}

/** Return what a token can be completed to; `score` says how much the user has to do with each person. */
export function completionsOf(token: Token, to: Target, score: (user: User) => number): TextCompletion[] {
  switch (token.kind) {
    case "person":
      return people(token, to, score);
    case "channel":
      return findChannels(token.query, LIMIT, false).map((channel) => ({
        key: `channel ${channel.stream_id}`,
        label: channel.name,
        detail: channel.description,
        picture: <ChannelMark channel={channel} />,
        text: `${linkOf(channel)} `,
        channel,
      }));
    case "topic":
      return topics(token, to);
    case "emoji":
      return findEmoji(token.query, LIMIT).map(({ emoji, name, word }) => {
        const characters = toned(emoji.glyph, tone.value);
        return {
          key: `${emoji.type} ${emoji.code}`,
          label: `:${name}:`,
          ...(word === undefined ? {} : { detail: word }),
          picture: emoji.url ? <img class="completion-emoji" src={emoji.url} alt="" /> : <span class="completion-emoji">{characters ?? emoji.glyph}</span>,
          text: `${characters ?? `:${name}:`} `,
        };
      });
    case "command":
      return commands(token.query);
    case "time":
      return timeChoices(token.query).map(({ label, detail, text }) => ({ key: text, label, detail, picture: <Icon name="clock" />, text: `${text} ` }));
    case "language":
      return findLanguages(token.query, LIMIT).map((name) => ({ key: name, label: name, text: `${name}\n` }));
  }
}

function people(token: Token & { kind: "person" }, to: Target, score: (user: User) => number): TextCompletion[] {
  const { isSilent, query } = token;
  const found: TextCompletion[] = findPeople(query, LIMIT, score).map((user) => ({
    key: `user ${user.user_id}`,
    label: user.full_name,
    detail: user.delivery_email ?? (user.is_bot ? i18n.t("bot") : ""),
    picture: <Face user={user} />,
    text: `${mentionOf(user, isSilent)} `,
  }));
  const groups = query ? findGroups(query, 4) : [];
  const first = groups.filter((each) => (tierOf(fold(each.name), fold(query)) ?? 4) <= 1);
  const others = groups.filter((each) => !first.includes(each));
  const item = (group: Group) => groupItem(group, isSilent);
  const wildcards = isSilent || to.kind !== "topic" ? [] : wildcardItems(query, to);
  // What is typed in full is meant. Else, people come before all of them, who are notified by accident.
  const isMeant = wildcards.some((each) => each.label === query.toLowerCase());
  const items = [...found.slice(0, 3), ...first.map(item), ...found.slice(3), ...others.map(item)];
  return (isMeant ? [...wildcards, ...items] : [...items.slice(0, LIMIT), ...wildcards]).slice(0, LIMIT + 2);
}

function groupItem(group: Group, isSilent: boolean): TextCompletion {
  return {
    key: `group ${group.id}`,
    label: group.name,
    detail: group.description || i18n.t("group"),
    picture: <Icon name="people" />,
    text: `${isSilent ? "@_" : "@"}*${group.name}* `,
  };
}

function wildcardItems(query: string, to: Target & { kind: "topic" }): TextCompletion[] {
  const count = to.channelId === undefined ? 0 : (state().channels.get(to.channelId)?.subscriber_count ?? 0);
  const detail: Record<string, string> = {
    all: i18n.t("Notify all {count} subscribers of the channel", { count }),
    everyone: i18n.t("Notify all {count} subscribers of the channel", { count }),
    channel: i18n.t("Notify all {count} subscribers of the channel", { count }),
    topic: i18n.t("Notify all who took part in the topic"),
  };
  if (!query || (query.length < 2 && count > LARGE_AUDIENCE)) return [];
  return Object.keys(detail)
    .filter((name) => name.startsWith(query.toLowerCase()))
    .slice(0, 1)
    .map((name) => ({ key: `all ${name}`, label: name, detail: detail[name], picture: <Icon name="bell" />, text: `@**${name}** ` }));
}

function topics(token: Token & { kind: "topic" }, to: Target): TextCompletion[] {
  const here = to.kind === "topic" ? to.channelId : undefined;
  const channel =
    token.channel === undefined ? (here === undefined ? undefined : state().channels.get(here)) : channelNamed(token.channel);
  if (!channel) return [];
  const names = findTopics(channel.stream_id, token.query, LIMIT);
  const typed = token.query.trim();
  const all = typed && !names.some((each) => each.toLowerCase() === typed.toLowerCase()) ? [...names, typed] : names;
  return all.map((topic) => ({
    key: `topic ${topic}`,
    label: topicName(state(), topic),
    detail: names.includes(topic) ? `#${channel.name}` : i18n.t("New topic"),
    picture: <Icon name="chevron" />,
    text: `${linkOf(channel, topic)} `,
  }));
}

function commands(query: string): TextCompletion[] {
  const known: [string, string, string][] = [
    ["me", i18n.t("Say what you do: “/me is on the way”"), "/me "],
    ["poll", i18n.t("Begin a poll: the question, then an option on each line"), "/poll "],
    ["todo", i18n.t("Begin a list of tasks: the title, then a task on each line"), "/todo "],
  ];
  const { fields, users } = state();
  const ofBots = (fields.realm_slash_commands ?? [])
    .filter(({ bot_id }) => users.get(bot_id)?.is_active !== false)
    .map(({ name, parameter_hint, description }): [string, string, string] => [`${name} ${parameter_hint}`.trimEnd(), description, `/${name} `]);
  const entries = [...known, ...ofBots].map((item) => ({ item, folded: fold(item[0]), also: "" }));
  return best(entries, fold(query), LIMIT, () => 0)
    .filter(([name]) => fold(name).startsWith(fold(query)))
    .map(([name, detail, text]) => ({ key: text, label: `/${name}`, detail, text }));
}
