import { expect, it } from "vitest";
import { expand } from "../src/model/url-template";

const URL_BASE = "https://run.example/";
const CODE = 'print("a/b & c?")';

it.each([
  // Values of RFC 6570, 3.2.
  ["{var}", "value", "value"],
  ["{var:3}", "value", "val"],
  ["{var*}", "value", "value"],
  ["{hello}", "Hello World!", "Hello%20World%21"],
  ["{+hello}", "Hello World!", "Hello%20World!"],
  ["{#hello}", "Hello World!", "#Hello%20World!"],
  ["{+path}/here", "/foo/bar", "/foo/bar/here"],
  ["{+half}", "50%", "50%25"],
  ["{+half}", "50%25", "50%25"],
  ["{half}", "50%25", "50%2525"],
  ["X{.var}", "value", "X.value"],
  ["{/var}", "value", "/value"],
  ["{;who}", "fred", ";who=fred"],
  ["{;empty}", "", ";empty"],
  ["{?who}", "fred", "?who=fred"],
  ["{?empty}", "", "?empty="],
  ["?fixed=yes{&x}", "1024", "?fixed=yes&x=1024"],
])("expands %s", (template, value, wanted) => {
  const [, name = ""] = /\{[+#./;?&]?(\w+)/.exec(template)!;
  expect(expand(template, name, value)).toBe(wanted);
});

it("encodes code so that nothing of it is read as another part of the address", () => {
  const url = new URL(expand(`${URL_BASE}{?code}&lang=py`, "code", CODE));
  expect([url.searchParams.get("code"), url.searchParams.get("lang")]).toEqual([CODE, "py"]);
  expect(new URL(expand(`${URL_BASE}#{code}`, "code", `${CODE}\n€ 🎉`)).hash.slice(1)).toBe(encodeURIComponent(`${CODE}\n€ 🎉`).replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`));
});

it("cuts by characters, and takes halves of pairs", () => {
  expect(expand("{code:2}", "code", "🎉🎉🎉")).toBe(encodeURIComponent("🎉🎉"));
  expect(expand("{code}", "code", "\ud83c")).toBe("%EF%BF%BD");
});

it("leaves out variables that have no value", () => {
  expect(expand("a{other}b{?code,other}", "code", "1")).toBe("ab?code=1");
});
