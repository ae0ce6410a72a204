import { expect, test } from "vitest";
import { addressesOf } from "../src/views/organization/addresses";

test("addresses are found however people write them, each once", () => {
  const text = "ada@example.com, Grace Hopper <grace@example.com>;\n emmy@example.com ada@example.com\n\n";
  expect(addressesOf(text)).toEqual(["ada@example.com", "grace@example.com", "emmy@example.com"]);
  expect(addressesOf(" ;, \n")).toEqual([]);
  expect(addressesOf("ada lovelace@example.com, emmy@example.com")).toEqual(["ada lovelace@example.com", "emmy@example.com"]);
});
