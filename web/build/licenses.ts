import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

interface License {
  name: string;
  version: string;
  identifier: string | null;
  text: string | null;
}

const WEB = join(import.meta.dirname, "..");

function licenseOf(name: string): License {
  const folder = join(WEB, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    version: string;
    license?: string;
  };
  const file = readdirSync(folder).find((each) => /^(licen[cs]e|copying|ofl)\b/i.test(each));
  const text = file === undefined ? null : readFileSync(join(folder, file), "utf8");
  return { name, version, identifier: license ?? null, text };
}

/**
 * Complete the list of licences that Vite writes: it knows the packages with modules in the
 * bundle, and not those of which only style sheets and fonts are.
 */
export function licenses(file: string): Plugin {
  return {
    name: "licenses",
    apply: "build",
    closeBundle() {
      const { dependencies } = JSON.parse(readFileSync(join(WEB, "package.json"), "utf8")) as {
        dependencies: Record<string, string>;
      };
      const listed = JSON.parse(readFileSync(file, "utf8")) as License[];
      const names = new Set(listed.map((each) => each.name));
      const others = Object.keys(dependencies).filter((name) => !names.has(name));
      const all = [...listed, ...others.map(licenseOf)].sort((a, b) => (a.name < b.name ? -1 : 1));
      writeFileSync(file, JSON.stringify(all, null, 1));
    },
  };
}
