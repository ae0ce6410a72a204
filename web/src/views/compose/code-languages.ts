/** Languages of code blocks. */

import { state } from "../../app";
import { best } from "../../model/names-index";

const NAMES = (
  "quote spoiler math text bash c c++ clojure cmake cobol csharp css csv dart diff dockerfile elixir elm erlang f# fortran go " +
  "graphql groovy haskell hcl html http ini java javascript json jsx julia kotlin latex lisp lua makefile markdown matlab nginx nim " +
  "nix objective-c ocaml pascal perl php powershell prolog protobuf python r ruby rust sass scala scheme scss shell solidity sql " +
  "swift tcl terraform toml tsx typescript vb verilog vhdl vim vue xml yaml zig"
).split(" ");

/** Return the languages that a name may be meant to be; none once it is one. */
export function findLanguages(query: string, limit: number): string[] {
  const typed = query.toLowerCase();
  const preferred = String(state().fields.realm_default_code_block_language ?? "");
  const entries = NAMES.map((item) => ({ item, folded: item, also: "" }));
  const found = best(entries, typed, limit, (name) => (name === preferred ? 1 : 0)).filter((name) => name.startsWith(typed));
  return found.length === 1 && found[0] === typed ? [] : found;
}
