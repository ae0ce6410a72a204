import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { catalogues } from "./build/catalogues";
import { emojiWordModules } from "./build/emoji-words";
import { icons } from "./build/icons";
import { licenses } from "./build/licenses";
import { serviceWorker } from "./build/worker";
import preact from "@preact/preset-vite";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const OUTPUT = "../server/web/static/app";
const LICENSES = ".vite/licenses.json";
const COMPRESSED = /\.(js|css|svg|json|webmanifest)$/;

interface ManifestEntry {
  file: string;
  css?: string[];
  assets?: string[];
}

function filesOf(manifest: string): string[] {
  if (!existsSync(manifest)) return [];
  const entries = Object.values(JSON.parse(readFileSync(manifest, "utf8")) as Record<string, ManifestEntry>);
  return entries.flatMap((entry) => [entry.file, ...(entry.css ?? []), ...(entry.assets ?? [])]);
}

/**
 * Write a Brotli and a gzip file beside each text asset, which the server sends as they are, and
 * remove the assets that neither this build nor the one before uses: pages that are open go on.
 */
function finishAssets(): Plugin {
  const output = join(import.meta.dirname, OUTPUT);
  const assets = join(output, "assets");
  let before: string[] = [];
  return {
    name: "finish-assets",
    apply: "build",
    buildStart() {
      before = filesOf(join(output, ".vite/manifest.json"));
    },
    closeBundle() {
      const used = new Set([...before, ...filesOf(join(output, ".vite/manifest.json"))]);
      for (const name of readdirSync(assets)) {
        const path = join(assets, name);
        if (!used.has(`assets/${name.replace(/\.(br|gz)$/, "")}`)) rmSync(path);
        else if (COMPRESSED.test(name) && !existsSync(`${path}.br`)) {
          const content = readFileSync(path);
          const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
          writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
          writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
        }
      }
    },
  };
}

/** The address of the server that `npm run dev` takes data from. */
const SERVER = process.env.PARLEY_DEV_SERVER ?? "http://localhost:9991";

export default defineConfig({
  base: "/static/app/",
  plugins: [
    preact({ prefreshEnabled: false }),
    catalogues(),
    emojiWordModules(),
    icons(),
    finishAssets(),
    licenses(join(import.meta.dirname, OUTPUT, LICENSES)),
    serviceWorker(OUTPUT),
  ],
  build: {
    outDir: OUTPUT,
    // Pages that are open go on using the files of the build before.
    emptyOutDir: false,
    manifest: true,
    license: { fileName: LICENSES },
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
    rollupOptions: { input: "src/main.tsx" },
  },
  server: {
    proxy: Object.fromEntries(
      ["/json", "/login", "/accounts", "/user_uploads", "/user_avatars", "/avatar", "/static/generated", "/logout"].map(
        (path) => [path, { target: SERVER }],
      ),
    ),
  },
  // A loaded machine may be slow.
  test: { include: ["tests/**/*.test.ts"], testTimeout: 60_000 },
});
