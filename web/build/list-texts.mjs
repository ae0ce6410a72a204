/** Lists what is wrong with the translations (`npm run texts`). */

import { join } from "node:path";
import { runnerImport } from "vite";

const { module } = await runnerImport(join(import.meta.dirname, "texts.ts"));
process.exitCode = module.report();
