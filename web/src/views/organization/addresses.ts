/** Return the addresses in a text, as people write them: one a line, or as mail programs copy them. */
export function addressesOf(text: string): string[] {
  const named = text.split(/[\n,;]+/).flatMap((each) => /<([^<>\s]+)>/.exec(each)?.[1] ?? apart(each.trim()));
  return [...new Set(named.filter(Boolean))];
}

/** Addresses with blanks between them; an address with a blank in it stays one, to be refused as it was written. */
function apart(text: string): string[] {
  const parts = text.split(/\s+/);
  return parts.every((each) => each.includes("@")) ? parts : [text];
}
