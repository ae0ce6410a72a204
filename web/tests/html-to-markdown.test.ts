import { describe, expect, it } from "vitest";
import { type HtmlNode, markdownOf } from "../src/views/compose/html-to-markdown";

type Child = HtmlNode | string;

function text(content: string): HtmlNode {
  return { nodeType: 3, nodeName: "#text", textContent: content, childNodes: [] };
}

/** Make an element as the parser does. */
function h(name: string, attributes: Record<string, string> = {}, ...given: Child[]): HtmlNode {
  const childNodes = given.map((each) => (typeof each === "string" ? text(each) : each));
  return {
    nodeType: 1,
    nodeName: name.toUpperCase(),
    textContent: childNodes.map((each) => each.textContent).join(""),
    childNodes,
    getAttribute: (wanted) => attributes[wanted] ?? null,
  };
}

const body = (...children: Child[]) => markdownOf(h("body", {}, ...children));

describe("Markdown of rich text", () => {
  it("keeps emphasis, links and code", () => {
    const paragraph = h("p", {}, "A ", h("b", {}, "bold "), h("em", {}, "word"), ", ", h("a", { href: "https://e.com/a_(b)" }, "here"), " ", h("code", {}, "x`y"));
    expect(body(paragraph)).toBe("A **bold** *word*, [here](https://e.com/a_%28b%29) ``x`y``");
  });

  it("writes an address that is its own text as it is, and no script", () => {
    expect(body(h("a", { href: "https://e.com" }, "https://e.com"))).toBe("https://e.com");
    expect(body(h("a", { href: "javascript:x()" }, "click"), h("script", {}, "x()"))).toBe("click");
  });

  it("keeps lists, also in lists", () => {
    const list = h("ul", {}, h("li", {}, "one"), h("li", {}, h("p", {}, "two"), h("ol", {}, h("li", {}, "deep"), h("li", {}, "deeper"))));
    expect(body(h("p", {}, "x"), list)).toBe("x\n\n- one\n- two\n  1. deep\n  2. deeper");
  });

  it("keeps headings, quotations and blocks of code", () => {
    const code = h("pre", {}, h("code", { class: "language-rust" }, "fn x() {\n  ```\n}\n"));
    expect(body(h("h2", {}, "Title"), h("blockquote", {}, h("p", {}, "a"), h("p", {}, "b")), code)).toBe(
      "## Title\n\n> a\n>\n> b\n\n````rust\nfn x() {\n  ```\n}\n````",
    );
  });

  it("keeps tables", () => {
    const row = (cell: string, ...cells: string[]) => h("tr", {}, ...cells.map((each) => h(cell, {}, each)));
    const table = h("table", {}, h("thead", {}, row("th", "a", "b")), h("tbody", {}, row("td", "1|2", "3")));
    expect(body(table)).toBe("| a | b |\n| --- | --- |\n| 1\\|2 | 3 |");
  });

  it("is not bold where a word processor wraps all in <b>", () => {
    expect(body(h("b", { style: "font-weight:normal;" }, h("p", {}, "x ", h("span", { style: "font-weight:700" }, "y"))))).toBe("x **y**");
  });

  it("gives what messages have its source again", () => {
    const mention = h("span", { class: "user-mention", "data-user-id": "7" }, "@Ada");
    const emoji = h("span", { class: "emoji emoji-1f389", title: "tada" }, ":tada:");
    const formula = h("span", { class: "katex" }, h("math", {}, h("annotation", {}, "x^2")));
    expect(body(h("p", {}, mention, " ", emoji, " ", formula))).toBe("@_**Ada|7** :tada: $$x^2$$");
  });

  it("escapes what would be read as Markdown", () => {
    expect(body(h("p", {}, "2 * 3 * 4"))).toBe("2 \\* 3 \\* 4");
  });
});
