/**
 * Texts of the interface.
 *
 * `i18n.t("{n, plural, one {# message} other {# messages}}", { n })`: the English text is the key,
 * in the syntax of ICU messages, and is written where it is used. The build compiles what has
 * arguments to functions (`build/catalogues.ts`), so no parser is loaded, and each module brings the
 * functions of its own texts.
 */

export type Values = Record<string, string | number>;
export type Catalogue = Record<string, string | ((values: Values) => string)>;

class I18n {
  readonly #english: Catalogue = {};
  #catalogue: Catalogue = {};
  locale = "en";

  activate(locale: string, catalogue: Catalogue): void {
    this.locale = locale;
    this.#catalogue = catalogue;
  }

  /** Add English texts: those of a module that is being loaded. */
  learn(texts: Catalogue): void {
    Object.assign(this.#english, texts);
  }

  t(text: string, values: Values = {}): string {
    const found = this.#catalogue[text] ?? this.#english[text] ?? text;
    return typeof found === "string" ? found : found(values);
  }
}

export const i18n = new I18n();
