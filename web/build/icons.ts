/** `virtual:icons.css`: a rule for each icon, which holds its picture. */

import type { Plugin } from "vite";
import { SHAPES } from "../src/ui/icon-shapes";

const NAME = "virtual:icons.css";
const RESOLVED = "/@icons.css";
const ROOT =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#000" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round">';

function ruleOf([name, shape]: [string, string]): string {
  const picture = `${ROOT}${shape}</svg>`.replace(/[#<>]/g, encodeURIComponent).replaceAll('"', "'");
  return `[data-icon="${name}"] { --icon: url("data:image/svg+xml,${picture}"); }`;
}

export function icons(): Plugin {
  return {
    name: "icons",
    resolveId: (id) => (id === NAME ? RESOLVED : undefined),
    load: (id) => (id === RESOLVED ? Object.entries(SHAPES).map(ruleOf).join("\n") : undefined),
  };
}
