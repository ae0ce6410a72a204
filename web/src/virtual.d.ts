declare module "virtual:catalogue/*" {
  const catalogue: Record<string, string | ((values: Record<string, string | number>) => string)>;
  export default catalogue;
}

declare module "virtual:emoji-words/*" {
  const words: Record<string, string[]>;
  export default words;
}

/** Adds the English texts of a module to those that the page knows. */
declare module "virtual:texts/*";

declare module "virtual:icons.css";
declare module "@infolektuell/noto-color-emoji/index.css";
declare module "twemoji-colr-font/twemoji.css";

declare module "@messageformat/core/compile-module" {
  import type MessageFormat from "@messageformat/core";
  export default function compileModule(format: MessageFormat, messages: Record<string, string>): string;
}
