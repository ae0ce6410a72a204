/**
 * The service worker, built into one file of a fixed name.
 *
 * It is a build of its own: in one with the page, what both use would become a file that the
 * worker imports from a wrong place, as it is served at the root.
 */

import { join } from "node:path";
import { build, type Plugin } from "vite";

export function serviceWorker(outDir: string): Plugin {
  return {
    name: "service-worker",
    apply: "build",
    async closeBundle() {
      await build({
        root: join(import.meta.dirname, ".."),
        configFile: false,
        publicDir: false,
        logLevel: "warn",
        build: {
          outDir,
          emptyOutDir: false,
          copyPublicDir: false,
          target: "es2022",
          rollupOptions: {
            input: "src/sw/sw.ts",
            output: { format: "iife", entryFileNames: "sw.js" },
          },
        },
      });
    },
  };
}
