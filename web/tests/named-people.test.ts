import { expect, test } from "vitest";
import type { User } from "../src/model/state";
import { partsOfText, peopleNamed } from "../src/views/settings/parts/named-people";
import { aUser } from "./fakes";

const people: [number, string, string, Partial<User>?][] = [
  [1, "Ada Lovelace", "ada@example.com"],
  [2, "Grace Hopper", "grace@example.com"],
  [3, "Grace Hopper", "grace@navy.example"],
  [4, "Luigi Menabrea", "luigi@example.com", { is_active: false }],
  [5, "عائشة", "aisha@example.com"],
];
const users = new Map(people.map(([id, name, delivery_email, more]) => [id, { ...aUser(id, name), is_active: true, delivery_email, ...more } as unknown as User]));

test("a text is split as people write lists", () => {
  expect(partsOfText("Ada Lovelace, Grace;  عائشة\nx@y.example z@y.example\n\nAda Lovelace")).toEqual(["Ada Lovelace", "Grace", "عائشة", "x@y.example", "z@y.example"]);
});

test("names, addresses and mentions are people", () => {
  expect(peopleNamed("ada LOVELACE; Grace <GRACE@navy.example>\n@**عائشة**, @_**Grace Hopper|2**", users)).toEqual({ ids: [1, 3, 5, 2], refused: [] });
});

test("who cannot be chosen is named with the reason", () => {
  const { ids, refused } = peopleNamed("Grace Hopper, luigi@example.com, Nemo, ada@example.com, aisha@example.com", users, new Set([1]));
  expect(ids).toEqual([5]);
  expect(refused).toEqual([
    { name: "Grace Hopper", reason: "is the name of several people: choose one, or use the email address" },
    { name: "Luigi Menabrea", reason: "is deactivated" },
    { name: "Nemo", reason: "is not known here" },
    { name: "Ada Lovelace", reason: "is in already" },
  ]);
});
