/** Return the addresses in a text, as people write them: one a line, or as mail programs copy them. */
export function addressesOf(text: string): string[] {
  const named = text.split(/[\n,;]+/).flatMap((each) => /<([^<>\s]+)>/.exec(each)?.[1] ?? each.split(/\s+/));
  return [...new Set(named.filter(Boolean))];
}
