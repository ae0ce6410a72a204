import { afterEach, expect, test, vi } from "vitest";
import { Model } from "../src/model/model";
import { stateOf } from "../src/model/state";
import { Topics } from "../src/model/topics";

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
  const topics = new Topics(new Model(stateOf({})));
  expect(topics.of(7)).toBeUndefined();
  await vi.waitFor(() => expect(topics.of(7)?.map((each) => each.name)).toEqual(["b", "a"]));
  expect(fetched).toHaveBeenCalledTimes(1);
});

test("what the network has kept back is fetched again", async () => {
  vi.useFakeTimers();
  const fetched = answering(failing, found);
  const topics = new Topics(new Model(stateOf({})));
  topics.of(7);
  await vi.advanceTimersByTimeAsync(1000);
  expect(topics.of(7)).toBeUndefined();
  expect(fetched).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(5000);
  topics.of(7);
  await vi.advanceTimersByTimeAsync(10);
  expect(topics.of(7)).toHaveLength(2);
});

test("a channel that may not be read has no topics", async () => {
  const fetched = answering(refused);
  const topics = new Topics(new Model(stateOf({})));
  topics.of(7);
  await vi.waitFor(() => expect(topics.of(7)).toEqual([]));
  expect(fetched).toHaveBeenCalledTimes(1);
});
