import { afterEach, expect, test, vi } from "vitest";
import type { ServerEvent } from "../src/model/events";
import { Topics } from "../src/model/topics";
import { aModel } from "./fakes";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Answer the requests of the page by these, one after the other. */
function answering(...answers: (() => Response)[]): ReturnType<typeof vi.fn> {
  const fetched = vi.fn(async () => (answers.length > 1 ? answers.shift()! : answers[0]!)());
  vi.stubGlobal("fetch", fetched);
  vi.stubGlobal("document", { cookie: "", querySelector: () => null });
  vi.stubGlobal("location", { href: "http://localhost/" });
  return fetched;
}

const found = () => Response.json({ result: "success", topics: [{ name: "a", max_id: 1 }, { name: "b", max_id: 2 }] });
const refused = () => Response.json({ result: "error", msg: "Invalid channel ID", code: "BAD_REQUEST" }, { status: 400 });
const failing = () => {
  throw new TypeError("network");
};

test("topics are fetched once, and the newest comes first", async () => {
  const fetched = answering(found);
  const topics = new Topics(aModel({ subscriptions: [{ stream_id: 7, name: "engines" }] }));
  expect(topics.of(7)).toBeUndefined();
  await vi.waitFor(() => expect(topics.of(7)?.map((each) => each.name)).toEqual(["b", "a"]));
  expect(fetched).toHaveBeenCalledTimes(1);
});

test("what the network has kept back is fetched again", async () => {
  vi.useFakeTimers();
  const fetched = answering(failing, found);
  const topics = new Topics(aModel({ subscriptions: [{ stream_id: 7, name: "engines" }] }));
  topics.of(7);
  await vi.advanceTimersByTimeAsync(1000);
  expect(topics.of(7)).toBeUndefined();
  expect(fetched).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(5000);
  topics.of(7);
  await vi.advanceTimersByTimeAsync(10);
  expect(topics.of(7)).toHaveLength(2);
});

test("a channel that is hidden has no topics, and is not asked for", async () => {
  const fetched = answering(found);
  const model = aModel({ subscriptions: [{ stream_id: 7, name: "engines" }] });
  const topics = new Topics(model);
  topics.of(7);
  await vi.waitFor(() => expect(topics.of(7)).toHaveLength(2));
  const hide = [{ type: "stream", op: "delete", stream_ids: [7] }] as unknown as ServerEvent[];
  model.applyAll(hide);
  topics.update(hide);
  expect(topics.of(7)).toEqual([]);
  expect(topics.known(7)).toBeUndefined();
  expect(fetched).toHaveBeenCalledTimes(1);
});

test("a channel that may not be read has no topics", async () => {
  const fetched = answering(refused);
  const topics = new Topics(aModel({ subscriptions: [{ stream_id: 7, name: "engines" }] }));
  topics.of(7);
  await vi.waitFor(() => expect(topics.of(7)).toEqual([]));
  expect(fetched).toHaveBeenCalledTimes(1);
});
