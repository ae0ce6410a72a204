/** URI templates (RFC 6570) with one variable, as code playgrounds have them. */

interface Operator {
  /** Before the first value. */
  first: string;
  isNamed: boolean;
  /** What stands after the name where the value is empty. */
  ifEmpty: string;
  allowsReserved: boolean;
}

const PLAIN: Operator = { first: "", isNamed: false, ifEmpty: "", allowsReserved: false };
const OPERATORS: Record<string, Operator> = {
  "+": { ...PLAIN, allowsReserved: true },
  "#": { ...PLAIN, first: "#", allowsReserved: true },
  ".": { ...PLAIN, first: "." },
  "/": { ...PLAIN, first: "/" },
  ";": { ...PLAIN, first: ";", isNamed: true },
  "?": { ...PLAIN, first: "?", isNamed: true, ifEmpty: "=" },
  "&": { ...PLAIN, first: "&", isNamed: true, ifEmpty: "=" },
};
const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;
const RESERVED = /%(?:3A|2F|3F|23|5B|5D|40|21|24|26|27|28|29|2A|2B|2C|3B|3D)/g;
const LEFT_BY_BROWSERS = /[!'()*]/g;

/** Return the address that a template makes of the value of its variable; others have none. */
export function expand(template: string, name: string, value: string): string {
  return template.replace(EXPRESSION, (_, sign: string, variables: string) => {
    const variable = variables.split(",").find((each) => each.replace(/\*$|:\d+$/, "") === name);
    if (variable === undefined) return "";
    const { first, isNamed, ifEmpty, allowsReserved } = OPERATORS[sign] ?? PLAIN;
    const length = Number(/:(\d+)$/.exec(variable)?.[1] ?? Number.POSITIVE_INFINITY);
    const shown = length === Number.POSITIVE_INFINITY ? value : Array.from(value).slice(0, length).join("");
    const encoded = encode(shown, allowsReserved);
    if (!isNamed) return first + encoded;
    return `${first}${name}${encoded ? `=${encoded}` : ifEmpty}`;
  });
}

function encode(text: string, allowsReserved: boolean): string {
  // A lone half of a pair has no encoding.
  const all = encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd")).replace(LEFT_BY_BROWSERS, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  if (!allowsReserved) return all;
  // What is encoded already stays so.
  return all.replace(RESERVED, decodeURIComponent).replace(/%25([0-9A-F]{2})/gi, "%$1");
}
