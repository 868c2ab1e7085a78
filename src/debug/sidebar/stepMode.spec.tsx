import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { makeDebugView } from '../../testing/debug';
import { RankView } from '../model/model';
import { StepMode } from './stepMode';

const RANKS = [0, 1].map(
  rank => ({ rank, phase: 'paused', place: null }) as unknown as RankView
);

it('leads to the field for some ranks, without an error before anything is written', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const draw = (mode: 'all' | 'some'): void =>
    root.render(
      <StepMode
        view={makeDebugView({ mode, ranks: RANKS })}
        trans={nullTranslator.load('x')}
        send={(_, args) => args.mode === 'some' && draw('some')}
      />
    );
  const error = (): string =>
    host.querySelector('[role="status"]')?.textContent ?? '';
  draw('all');
  const some = await vi.waitFor(() => {
    const found = [...host.querySelectorAll('button')].at(-1);
    expect(found?.textContent).toBe('Some…');
    return found!;
  });
  some.click();
  const field = await vi.waitFor(() => {
    const found = host.querySelector('input');
    expect(document.activeElement).toBe(found);
    return found!;
  });
  expect([error(), field.getAttribute('aria-invalid')]).toEqual(['', 'false']);
  field.blur(); // nothing was written: a step would move no rank
  await vi.waitFor(() => expect(error()).toContain('A step moves no rank'));
  expect(field.getAttribute('aria-invalid')).toBe('true');
  root.unmount();
  host.remove();
});
