import { type ComponentChild, Fragment } from "preact";

/** Show a line of Markdown that has no more than code and emphasis. */
export function withStyles(line: string): ComponentChild {
  return line.split(/(`[^`]+`|\*[^*]+\*)/).map((part, index) => {
    const inner = part.slice(1, -1);
    if (part.length > 2 && part.startsWith("`")) return <code key={index}>{inner}</code>;
    if (part.length > 2 && part.startsWith("*")) return <em key={index}>{inner}</em>;
    return <Fragment key={index}>{part}</Fragment>;
  });
}
