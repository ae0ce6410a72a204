/**
 * The model as a process: reads lines of JSON, and prints what the model holds after them.
 *
 * The first line that it prints are the parameters with which clients register. A line has a
 * `client` and either `registered`, a response of register, or `events`, or `fetched`, a response
 * with messages that was asked for beside register: `{"isOfUse": ...}` is printed. For
 * `{"client": ..., "show": true}` the state is printed. Maps are printed as objects, and sets as
 * sorted lists.
 */

import { createInterface } from "node:readline";
import { Model } from "../src/model/model";
import { isRecent } from "../src/model/feeds";
import { keepMessage } from "../src/model/reducers/messages";
import { stateOf } from "../src/model/state";
import { REGISTRATION } from "../src/sync/events";

/** What differs from one registration to the next though nothing has happened. */
const OF_THE_QUEUE = new Set(["queueId", "lastEventId", "maxMessageId", "position", "typing"]);
const OF_THE_RESPONSE = new Set(["server_timestamp", "presence_last_update_id"]);

function plain(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, each]) => [String(key), plain(each)]));
  if (value instanceof Set) return [...value].sort((one, other) => one - other);
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
  }
  return value;
}

function shown(model: Model): unknown {
  const { fields } = model.state;
  const kept = Object.entries(fields).filter(([name]) => !OF_THE_RESPONSE.has(name));
  const state = { ...model.state, fields: Object.fromEntries(kept) };
  return plain(Object.fromEntries(Object.entries(state).filter(([name]) => !OF_THE_QUEUE.has(name))));
}

const models = new Map<string, Model>();
const write = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);

write(REGISTRATION);
for await (const line of createInterface({ input: process.stdin })) {
  const { client, registered, fetched, events, show } = JSON.parse(line);
  if (registered) models.set(client, new Model(stateOf(registered)));
  if (fetched) {
    const { state } = models.get(client)!;
    const isOfUse = isRecent(fetched, state);
    if (isOfUse) for (const message of fetched.messages) keepMessage(state, message);
    write({ isOfUse });
  }
  if (events) models.get(client)!.applyAll(events);
  if (show) write(shown(models.get(client)!));
}
