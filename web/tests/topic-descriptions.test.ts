import { expect, test } from "vitest";
import type { ServerEvent } from "../src/model/events";
import { topicKey } from "../src/model/state";
import { aModel } from "./fakes";

const described = (topic: string, description: string) => ({ topic, description, rendered_description: description && `<p>${description}</p>` });

test("descriptions are held by topic, follow a rename and go with the subscription", () => {
  const model = aModel({
    subscriptions: [{ stream_id: 7, name: "engines" }, { stream_id: 8, name: "wheels" }],
    topic_descriptions: [{ stream_id: 7, ...described("Oil", "Black") }, { stream_id: 8, ...described("", "Round") }],
  } as never);
  const apply = (event: object) => model.applyAll([event as ServerEvent]);
  const text = (channelId: number, topic: string) => model.state.topicDescriptions.get(topicKey(channelId, topic))?.description;
  expect([text(7, "OIL"), text(8, ""), text(7, "")]).toEqual(["Black", "Round", undefined]);
  apply({ type: "topic_descriptions", stream_id: 7, topics: [described("Oil", ""), described("oil", "Brown")] });
  expect(text(7, "oil")).toBe("Brown");
  apply({ type: "topic_descriptions", stream_id: 7, topics: [described("oil", ""), described("Grease", "Brown")] });
  expect([text(7, "oil"), text(7, "grease")]).toEqual([undefined, "Brown"]);
  apply({ type: "subscription", op: "remove", subscriptions: [{ stream_id: 7, name: "engines" }] });
  expect([...model.state.topicDescriptions.values()].map((each) => each.stream_id)).toEqual([8]);
});
