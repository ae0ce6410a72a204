import { expect, it, vi } from "vitest";

vi.mock("../src/ui/message-html", () => ({ MessageHtml: () => null }));
const { fitOf } = await import("../src/views/feed/tall-body");

it("a message is cut off only where the rest is worth a button", () => {
  expect([0, 500, 501, 620, 621, 5_000].map((height) => fitOf(height, 500))).toEqual(["small", "small", "fits", "fits", "tall", "tall"]);
});
