import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import type { User } from "../../model/state";
import { patch, request } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import type { Bot } from "../../protocol/types";
import { Avatar } from "../../ui/avatar";
import { watch } from "../../ui/watch";
import { BotCommands } from "./bot-commands";
import { PictureField } from "./parts/picture-field";
import { type Section, type Setting, SettingsForm, type Source } from "./parts/settings";

export const OUTGOING = 3;
/** How long an address that is called may be. */
export const MAX_ADDRESS_LENGTH = 2048;

/** Formats in which an outgoing webhook is called. */
export function interfaces(): readonly (readonly [number, string])[] {
  return [
    [1, i18n.t("Generic")],
    [2, i18n.t("As Slack calls")],
  ];
}

/** Return what only those who manage a bot see of it; undefined for bots of others. */
export function privatePartOf(botId: number): Bot | undefined {
  return ((state().fields.realm_bots ?? []) as Bot[]).find((each) => each.user_id === botId);
}

/** Return the settings of a bot. Channels and calls are known to those who manage it. */
export function botSections(bot: User, known: Bot | undefined): Section[] {
  const sections: Section[] = [{ title: i18n.t("About the bot"), settings: [{ kind: "text", name: "full_name", label: i18n.t("Name"), max: 100 },
        { kind: "text", name: "short_name", label: i18n.t("First part of its email address"), max: 60 }, ownerSetting(bot)] }];
  if (known && bot.bot_type === OUTGOING) {
    sections.push({
      title: i18n.t("Calls"),
      settings: [
        { kind: "text", name: "service_payload_url", label: i18n.t("Address that it calls"), max: MAX_ADDRESS_LENGTH },
        { kind: "choice", name: "service_interface", label: i18n.t("Format of the calls"), options: interfaces() },
      ],
    });
  }
  if (known) {
    const channels = channelNames();
    sections.push({
      title: i18n.t("For requests that name no channel"),
      settings: [
        { kind: "choice", name: "default_sending_stream", label: i18n.t("It sends to"), options: channels },
        { kind: "choice", name: "default_events_register_stream", label: i18n.t("It receives messages of"), options: channels },
        { kind: "toggle", name: "default_all_public_streams", label: i18n.t("It receives messages of all public channels") },
      ],
    });
  }
  return sections;
}

function channelNames(): readonly (readonly [string, string])[] {
  const names = [...state().channels.values()].filter((each) => !each.is_archived).map((each) => each.name);
  return [["", i18n.t("None")], ...names.sort(COLLATOR.compare).map((name) => [name, name] as const)];
}

/** People who may own a bot: it cannot have a higher role than its owner. */
function ownerSetting(bot: User): Setting {
  const owners = [...state().users.values()].filter((user) => user.is_active && !user.is_bot && !user.is_guest && user.role <= bot.role);
  owners.sort((one, other) => COLLATOR.compare(one.full_name, other.full_name));
  return {
    kind: "choice",
    name: "bot_owner_id",
    label: i18n.t("Owner"),
    hint: i18n.t("A new owner gets the bot with a new key."),
    options: owners.map((user) => [user.user_id, user.full_name]),
  };
}

function sourceOf(bot: User, known: Bot | undefined): Source {
  const values: Record<string, unknown> = {
    full_name: bot.full_name,
    short_name: bot.email.split("-bot@")[0],
    bot_owner_id: bot.bot_owner_id,
    service_payload_url: known?.services[0]?.base_url,
    service_interface: known?.services[0]?.interface,
    default_sending_stream: known?.default_sending_stream ?? "",
    default_events_register_stream: known?.default_events_register_stream ?? "",
    default_all_public_streams: known?.default_all_public_streams,
  };
  return { read: (name) => values[name], save: (name, value) => patch(`/bots/${bot.user_id}`, { [name]: value as Json }) };
}

/** Picture, name, owner, calls and channels of a bot. */
export function BotSettings({ bot }: { bot: User }) {
  watch("users", "bots", "channels");
  const known = privatePartOf(bot.user_id);
  return (
    <>
      <PictureField
        label={i18n.t("Picture")}
        picture={<Avatar user={bot} size={72} />}
        maxMib={state().fields.max_avatar_file_size_mib ?? 0}
        upload={(file) => {
          const form = new FormData();
          form.append("file", file);
          return request("PATCH", `/bots/${bot.user_id}`, form);
        }}
      />
      <SettingsForm sections={botSections(bot, known)} source={sourceOf(bot, known)} />
      {known && bot.bot_type === OUTGOING ? <BotCommands botId={bot.user_id} /> : null}
    </>
  );
}
