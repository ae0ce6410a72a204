import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { get } from "../../protocol/client";
import type { IntegrationResult, OptionResult } from "../../protocol/types";
import { SecretLink } from "../../ui/secret-link";
import { SaveNote, useSaving } from "./parts/saving";
import { withStyles } from "./parts/styled-step";
import { LastDelivery } from "./last-delivery";
import { WebhookSecret } from "./webhook-secret";

/** Formats that any program may send; the others are of one service each. */
const SLACK = "slack_incoming";
const JSON_FORMAT = "json";

/** The address to which another service posts, made step by step: the key is a part of it. */
export function IncomingAddresses({ botId, apiKey }: { botId: number; apiKey: string }) {
  const [services, setServices] = useState<readonly IntegrationResult[]>([]);
  const [loading, run] = useSaving();
  const [format, setFormat] = useState(SLACK);
  const [channel, setChannel] = useState("");
  const [topic, setTopic] = useState("");
  const [options, setOptions] = useState<Readonly<Record<string, string>>>({});
  const [events, setEvents] = useState<readonly string[]>([]);
  useEffect(() => {
    void run(async () => setServices((await get<{ integrations: IntegrationResult[] }>("/integrations")).integrations));
  }, []);
  const service = services.find(({ name }) => name === format);
  const choices = service?.options ?? (format === JSON_FORMAT ? templates() : []);
  const channels = [...state().channels.values()].filter((each) => !each.is_archived).sort((one, other) => COLLATOR.compare(one.name, other.name));
  const address = addressOf(format, {
    api_key: apiKey,
    stream: channel,
    topic: channel ? topic : "",
    only_events: events.length ? JSON.stringify(events) : "",
    ...Object.fromEntries(choices.map(({ name }) => [name, options[name] ?? ""])),
  });
  const choose = (name: string) => {
    setFormat(name);
    setOptions({});
    setEvents([]);
  };
  return (
    <div class="small-form">
      <label>
        <span>{i18n.t("Service that posts")}</span>
        <select value={format} onChange={(event) => choose(event.currentTarget.value)}>
          <option value={SLACK}>{i18n.t("Any service that can post to Slack")}</option>
          <option value={JSON_FORMAT}>{i18n.t("Any service that posts JSON")}</option>
          {[...categoriesOf(services)].map(([category, of]) => (
            <optgroup key={category} label={category}>
              {of.map(({ name, display_name }) => (
                <option key={name} value={name}>{display_name}</option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <SaveNote saving={loading} />
      <label>
        <span>{i18n.t("Channel for its messages")}</span>
        <select value={channel} onChange={(event) => setChannel(event.currentTarget.value)}>
          <option value="">{i18n.t("None: you get direct messages")}</option>
          {channels.map(({ stream_id: id, name }) => (
            <option key={id} value={String(id)}>{name}</option>
          ))}
        </select>
      </label>
      {channel ? (
        <label>
          <span>{i18n.t("Topic (if empty, the service decides)")}</span>
          <input type="text" autocomplete="off" value={topic} maxLength={60} onInput={(event) => setTopic(event.currentTarget.value)} />
        </label>
      ) : null}
      {choices.map(({ name, label, is_flag: isFlag, is_on: isOn }) => {
        const set = (value: string) => setOptions({ ...options, [name]: value });
        return isFlag ? (
          <label key={name}>
            <input
              type="checkbox"
              checked={(options[name] || String(isOn)) === "true"}
              onChange={({ currentTarget: { checked } }) => set(checked === isOn ? "" : String(checked))}
            />
            <span>{label}</span>
          </label>
        ) : (
          <label key={name}>
            <span>{label}</span>
            <input type="text" autocomplete="off" value={options[name] ?? ""} onInput={(event) => set(event.currentTarget.value)} />
          </label>
        );
      })}
      {service?.events.length ? <Events names={service.events} chosen={events} onChange={setEvents} /> : null}
      <p class="faded">{i18n.t("Give this address to the other service. All who have it can send messages as this bot.")}</p>
      <SecretLink label={i18n.t("Address for the service")} link={address} />
      {service ? (
        <ol class="setup-steps">
          {service.setup.map((step) => (
            <li key={step}>{withStyles(step.replace("`{url}`", i18n.t("the address above")))}</li>
          ))}
        </ol>
      ) : null}
      <LastDelivery botId={botId} names={new Map(services.map((each) => [each.name, each.display_name]))} />
      <WebhookSecret botId={botId} step={service ? service.signing_step : i18n.t("Sign bodies as GitHub, Slack or Shopify do, or send the secret in the header `X-Webhook-Token`.")} />
    </div>
  );
}

/** What decides how any JSON is shown. */
function templates(): readonly OptionResult[] {
  return [
    { name: "topic_template", label: i18n.t("Template of the topic, such as {example}", { example: "{repository.name}" }), is_flag: false, is_on: false },
    { name: "text_template", label: i18n.t("Template of the text, such as {example} (if empty, all is shown)", { example: "{sender.name|bold} pushed {ref|code}" }), is_flag: false, is_on: false },
  ];
}

/** Which events are posted; all of them if none is chosen. */
function Events({ names, chosen, onChange }: { names: readonly string[]; chosen: readonly string[]; onChange: (names: string[]) => void }) {
  return (
    <details>
      <summary>
        {chosen.length ? i18n.t("{count, plural, one {# event is posted} other {# events are posted}}", { count: chosen.length }) : i18n.t("All events are posted")}
      </summary>
      <div class="check-list" role="group" aria-label={i18n.t("Events to post")}>
        {names.map((name) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) => onChange(event.currentTarget.checked ? [...chosen, name] : chosen.filter((each) => each !== name))}
            />
            <code>{name}</code>
          </label>
        ))}
      </div>
    </details>
  );
}

function addressOf(format: string, parameters: Readonly<Record<string, string>>): string {
  const url = new URL(`/api/v1/external/${format}`, location.href);
  for (const [name, value] of Object.entries(parameters)) if (value) url.searchParams.set(name, value);
  return url.href;
}

function categoriesOf(services: readonly IntegrationResult[]): Map<string, IntegrationResult[]> {
  const found = new Map<string, IntegrationResult[]>();
  const sorted = [...services].sort((one, other) => COLLATOR.compare(one.category, other.category) || COLLATOR.compare(one.display_name, other.display_name));
  for (const each of sorted) found.set(each.category, [...(found.get(each.category) ?? []), each]);
  return found;
}
