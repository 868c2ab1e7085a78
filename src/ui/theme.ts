const known = new Map<string, string>();
let theme: string | undefined;

/**
 * A colour of the theme, as CSS has it. Asking for a style has the browser bring all styles up to date, in the
 * middle of drawing; so each colour is asked for once a theme.
 */
export function themeColour(name: string): string {
  const now = document.body.dataset.jpThemeName;
  if (now !== theme) {
    theme = now;
    known.clear();
  }
  let value = known.get(name);
  if (!value) {
    value = getComputedStyle(document.body).getPropertyValue(name).trim();
    known.set(name, value);
  }
  return value;
}
