import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { catalogues } from "./build/catalogues";
import preact from "@preact/preset-vite";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const OUTPUT = "../server/web/static/app";
const COMPRESSED = /\.(js|css|svg|json|webmanifest)$/;

/** Write a Brotli and a gzip file beside each text asset, which the server sends as they are. */
function precompress(): Plugin {
  return {
    name: "precompress",
    apply: "build",
    closeBundle() {
      const assets = join(import.meta.dirname, OUTPUT, "assets");
      for (const name of readdirSync(assets).filter((each) => COMPRESSED.test(each))) {
        const path = join(assets, name);
        const content = readFileSync(path);
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

/** The address of the server that `npm run dev` takes data from. */
const SERVER = process.env.PARLEY_DEV_SERVER ?? "http://localhost:9991";

export default defineConfig({
  base: "/static/app/",
  plugins: [preact({ prefreshEnabled: false }), catalogues(), precompress()],
  build: {
    outDir: OUTPUT,
    // Pages that are open go on using the files of the build before.
    emptyOutDir: false,
    manifest: true,
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
  test: { include: ["tests/**/*.test.ts"] },
});
