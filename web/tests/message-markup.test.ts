import { describe, expect, it } from "vitest";
import { allowedHtml, declarations } from "../src/ui/message-markup";

describe("the HTML of messages", () => {
  it("keeps what the renderer makes", () => {
    const html =
      '<p>a <strong>b</strong> <a href="https://example.com/?a=1&amp;b=2" title="x">c</a><br>\n' +
      '<span class="user-mention" data-user-id="7">@Ann</span> 1 &lt; 2</p>\n<ol start="3">\n<li>x</li>\n</ol>';
    expect(allowedHtml(html)).toBe(html);
  });

  it.each([
    "<script>alert(1)</script>",
    "<iframe src=x>",
    "<svg onload=alert(1)>",
    "<style>p{}</style>",
    "<form action=x><input></form>",
    "<P>",
    "<a href=javascript:alert(1)>",
    '<a href="x"onclick="y">',
    "<!-- x --><p>",
    "<",
  ])("shows %s as text", (html) => {
    expect(allowedHtml(html)).not.toMatch(/<(?!\/?p>)/);
  });

  it.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "blob:x", "java\tscript:alert(1)", "&#106;avascript:alert(1)", "javascript&colon;alert(1)", "javascript&#58;alert(1)"])(
    "drops the address %s",
    (address) => {
      expect(allowedHtml(`<a href="${address}">x</a>`)).toBe("<a>x</a>");
      expect(allowedHtml(`<img src="${address}">`)).toBe("<img>");
    },
  );

  it.each(["https://example.com", "/user_uploads/1/a.png", "#narrow/is/starred", "mailto:a@b.c", "help"])("keeps the address %s", (address) => {
    expect(allowedHtml(`<a href="${address}">x</a>`)).toBe(`<a href="${address}">x</a>`);
  });

  it.each([
    '<p><img alt="a" class="inline-image" data-original-content-type="image/heic" data-original-dimensions="9x6" data-original-src="/user_uploads/1/a.heic" data-transcoded-image="1920x1080.webp" src="/user_uploads/thumbnail/1/a.heic/840x560.webp"></p>',
    '<p><audio controls="" preload="metadata" src="/user_uploads/1/a.mp3" title="a.mp3"></audio></p>',
  ])("keeps media in the text: %s", (html) => {
    expect(allowedHtml(html)).toBe(html);
  });

  it("drops an original's address that is none", () => {
    expect(allowedHtml('<img data-original-src="javascript:x">')).toBe("<img>");
  });

  it("drops handlers and ids", () => {
    expect(allowedHtml('<p onclick="x" id="app" name="y" class="z">')).toBe('<p class="z">');
  });

  it("keeps styles for scripts to apply", () => {
    expect(allowedHtml('<td style="text-align: left;">')).toBe('<td data-style="text-align: left;">');
    expect(allowedHtml('<p>style="a"</p>')).toBe('<p>style="a"</p>');
  });

  it("reads the declarations of styles", () => {
    expect(declarations("text-align: left;")).toEqual([["text-align", "left"]]);
    expect(declarations('background-image: url("https://a/b;c?d=(e)")')).toEqual([["background-image", 'url("https://a/b;c?d=(e)")']]);
    expect(declarations("color: #fff; margin-left: -2em;")).toEqual([["color", "#fff"], ["margin-left", "-2em"]]);
  });
});
