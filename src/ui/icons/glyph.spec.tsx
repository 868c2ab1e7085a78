import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { GlyphKind } from '../../verdicts/glyphKind';
import { Glyph } from './glyph';

it('tells a stopped cluster from an idle one by its shape, and by its name', () => {
  const drawn = (kind: GlyphKind): SVGElement => {
    const host = document.createElement('div');
    host.innerHTML = renderToStaticMarkup(<Glyph kind={kind} label={kind} />);
    return host.querySelector('svg')!;
  };
  const path = (kind: GlyphKind): string | null =>
    drawn(kind).querySelector('path')!.getAttribute('d');
  expect(path('idle')).toContain('a'); // a ring has arcs
  expect(path('stopped')).not.toContain('a');
  expect(drawn('stopped').getAttribute('aria-label')).toBe('stopped');
});
