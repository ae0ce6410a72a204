/**
 * The HTML that messages may have: the elements and attributes of the server's renderer, no more.
 *
 * The renderer escapes every `<` that is not of a tag of its own. What is not on the list is shown
 * as text here, so that nothing else than the server's escaping has to be trusted.
 */

const MATHML = [
  "math", "mfrac", "mmultiscripts", "mover", "mpadded", "mphantom", "mprescripts", "mroot", "mrow", "mspace", "msqrt",
  "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtr", "munder", "munderover", "semantics", "mi", "mn", "mo",
  "ms", "mtext", "annotation",
];
const ELEMENTS = new Set([
  "p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6",
  "table", "thead", "tbody", "tr", "th", "td", "a", "time", "span", "img", "video", "audio", "div", ...MATHML,
]);
const ATTRIBUTES = new Set([
  "accent", "accentunder", "alt", "aria-hidden", "aria-label", "class", "columnalign", "controls", "data-animated",
  "data-code-language", "data-original-content-type", "data-original-dimensions", "data-original-src", "data-stream-id",
  "data-transcoded-image", "data-user-group-id", "data-user-id", "datetime", "depth", "display", "displaystyle", "encoding", "fence", "form", "height", "href",
  "largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "preload", "role",
  "rspace", "scriptlevel", "separator", "src", "start", "stretchy", "style", "symmetric", "title", "voffset", "width",
  "xmlns",
]);
const ADDRESS = /^(?:(?:https?|mailto|tel|sms|xmpp|sips?|geo|ftp):|[/#]|[^:]*$)/i;
const TAG = /^<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z][a-z-]*(?:="[^"]*")?)*)\s*\/?>$/;
const ATTRIBUTE = /\s([a-z][a-z-]*)(?:="([^"]*)")?/g;

/**
 * Return a message's HTML with what is allowed only.
 *
 * Styles become `data-style`: the page's policy forbids style attributes, and scripts apply them.
 */
export function allowedHtml(html: string): string {
  return html.replace(/<[^<>]*>|</g, (tag) => allowedTag(tag));
}

function allowedTag(tag: string): string {
  const [, slash, name, attributes] = TAG.exec(tag) ?? [];
  if (name === undefined || !ELEMENTS.has(name)) return tag.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  if (slash) return `</${name}>`;
  let kept = "";
  for (const [, attribute, value = ""] of attributes!.matchAll(ATTRIBUTE)) {
    if (!ATTRIBUTES.has(attribute!) || !isAllowedValue(attribute!, value)) continue;
    kept += ` ${attribute === "style" ? "data-style" : attribute}="${value}"`;
  }
  return `<${name}${kept}>`;
}

/** The renderer writes these character references only; others might hide a scheme. */
const REFERENCES = /&(?:amp|lt|gt|quot|#x27|#39);/g;

function isAllowedValue(attribute: string, value: string): boolean {
  if (attribute !== "href" && !attribute.endsWith("src")) return true;
  const plain = value.replace(REFERENCES, "");
  return ADDRESS.test(plain) && !plain.includes("&");
}

/** Return the declarations of a style attribute. */
export function declarations(style: string): [string, string][] {
  return [...style.matchAll(/([a-z-]+):\s*((?:url\("[^"]*"\)|[^;])+)/g)].map((found) => [found[1]!, found[2]!.trim()]);
}
