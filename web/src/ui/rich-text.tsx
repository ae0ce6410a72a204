import { cloneElement, type ComponentChildren, Fragment, isValidElement } from "preact";

/** The first of the characters that stand for elements while a text is composed: of no script. */
const FIRST_MARK = 0xe000;
const MARKS = /([\ue000-\ue0ff])/;

/**
 * Return a text in which some arguments are elements, such as links: each language puts them where
 * they belong.
 *
 * `compose` gets a mark for each of the elements, by its name, and returns the translated text.
 */
export function richly<Name extends string>(compose: (marks: Record<Name, string>) => string, elements: Record<Name, ComponentChildren>): ComponentChildren {
  const names = Object.keys(elements) as Name[];
  const marks = Object.fromEntries(names.map((name, index) => [name, String.fromCharCode(FIRST_MARK + index)])) as Record<Name, string>;
  return compose(marks)
    .split(MARKS)
    .map((part, index) => {
      const name = names[part.charCodeAt(0) - FIRST_MARK];
      const found = name === undefined ? part : elements[name];
      return isValidElement(found) ? cloneElement(found, { key: index }) : <Fragment key={index}>{found}</Fragment>;
    });
}
