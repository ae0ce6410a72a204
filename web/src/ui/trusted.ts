/** Policies of Trusted Types: all that makes HTML or script addresses of text is here. */

import { allowedHtml } from "./message-markup";

interface Policy {
  createHTML(text: string): unknown;
  createScriptURL(text: string): unknown;
}

interface PolicyRules {
  createHTML?: (text: string) => string;
  createScriptURL?: (text: string) => string;
}

function policy(name: string, rules: PolicyRules): Policy {
  const factory = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: PolicyRules): Policy } }).trustedTypes;
  if (factory) return factory.createPolicy(name, rules);
  return {
    createHTML: (text) => rules.createHTML!(text),
    createScriptURL: (text) => rules.createScriptURL!(text),
  };
}

const message = policy("parley-message", { createHTML: allowedHtml });
// What is parsed is read, and never shown: scripts of such documents do not run.
const parsing = policy("parley-parse", { createHTML: (html) => html });
const scripts = policy("parley-script", {
  createScriptURL: (url) => {
    const { origin, pathname } = new URL(url, location.href);
    if (origin === location.origin && (pathname === "/sw.js" || pathname.startsWith("/static/app/"))) return url;
    throw new TypeError(`Not a script of this page: ${url}`);
  },
});

export function messageHtml(html: string): unknown {
  return message.createHTML(html);
}

export function scriptUrl(url: string): unknown {
  return scripts.createScriptURL(url);
}

/** Parse HTML into a document of its own, which is not shown. */
export function parseHtml(html: string): Document {
  return new DOMParser().parseFromString(parsing.createHTML(html) as string, "text/html");
}
