import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';

import type { Highlight } from './code';

/** Highlighting as in JupyterLab's editors; without its languages, plain text. */
export function highlightWith(
  languages: IEditorLanguageRegistry | null
): Highlight {
  return async (code, language, into) => {
    const spec = languages?.findBest(language) ?? null;
    await (languages
      ? languages.highlight(code, spec, into)
      : into.append(code));
  };
}
