import { i18n } from "../i18n";

/** Return a size for people: 1.4 MB. */
export function shownSize(bytes: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return new Intl.NumberFormat(i18n.locale, {
    style: "unit",
    unit: units[unit],
    maximumFractionDigits: value < 10 && unit ? 1 : 0,
  }).format(value);
}
