import { beforeEach, expect, test } from "vitest";
import { ApiError } from "../src/protocol/client";
import { refusedBy } from "../src/views/feed/refused";
import { isSelecting, selectIn } from "../src/views/feed/selecting";
import { endSelecting, isSelected, lastSelected, MAX_SELECTED, selectedIds, setSelected } from "../src/views/feed/selection";

let ids: number[] = [];
let leave = () => {};

beforeEach(() => {
  leave();
  ids = [3, 5, 7, 9, 11];
  leave = selectIn(() => ids);
});

test("messages are selected one by one, and listed in the order of the feed", () => {
  expect(isSelecting.value).toBe(false);
  setSelected(9, true);
  setSelected(3, true);
  setSelected(9, false);
  setSelected(5, true);
  expect([isSelecting.value, selectedIds(), isSelected(9), lastSelected()]).toEqual([true, [3, 5], false, 5]);
  setSelected(3, false);
  setSelected(5, false);
  expect([isSelecting.value, selectedIds()]).toEqual([true, []]);
  endSelecting();
  expect(isSelecting.value).toBe(false);
});

test("a range begins at the message that was changed last, in either direction", () => {
  setSelected(9, true);
  setSelected(5, true, true);
  expect(selectedIds()).toEqual([5, 7, 9]);
  setSelected(11, true, true);
  expect(selectedIds()).toEqual([5, 7, 9, 11]);
  setSelected(9, false, true);
  expect(selectedIds()).toEqual([5, 7]);
});

test("without a beginning in the feed, a range is one message", () => {
  setSelected(7, true, true);
  expect(selectedIds()).toEqual([7]);
  ids = [9, 11];
  setSelected(11, true, true);
  expect(selectedIds()).toEqual([11]);
});

test("messages that have left the feed, and those on their way, are not selected", () => {
  setSelected(3, true);
  ids = [5, -1, 7];
  expect(selectedIds()).toEqual([]);
  setSelected(5, true);
  setSelected(7, true, true);
  expect(selectedIds()).toEqual([5, 7]);
});

test("there are as many as one request changes", () => {
  ids = Array.from({ length: MAX_SELECTED + 1 }, (_, index) => index + 1);
  setSelected(1, true);
  setSelected(MAX_SELECTED, true, true);
  expect(setSelected(MAX_SELECTED + 1, true)).toBe(false);
  expect([selectedIds().length, isSelected(MAX_SELECTED + 1)]).toEqual([MAX_SELECTED, false]);
  setSelected(1, false);
  setSelected(MAX_SELECTED + 1, true);
  expect(isSelected(MAX_SELECTED + 1)).toBe(true);
});

test("another feed has a selection of its own", () => {
  setSelected(3, true);
  const leaveOther = selectIn(() => [3, 4]);
  expect(isSelecting.value).toBe(false);
  setSelected(4, true);
  leave();
  expect(selectedIds()).toEqual([4]);
  leaveOther();
  expect(isSelecting.value).toBe(false);
});

test("an error says which messages hinder, and why", () => {
  const refused = [
    { msg: "Too old", message_ids: [3, 5] },
    { msg: "Not yours.", message_ids: [7] },
  ];
  const error = new ApiError(400, "MESSAGES_REFUSED", "Nothing was changed", { refused });
  expect(refusedBy(error)).toEqual({ ids: new Set([3, 5, 7]), text: "Too old. Not yours." });
  expect(refusedBy(new ApiError(400, "BAD_REQUEST", "Invalid channel ID"))).toBeUndefined();
  expect(refusedBy(new Error("network"))).toBeUndefined();
});
