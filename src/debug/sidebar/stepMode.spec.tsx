import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { makeDebugView } from '../../testing/debug';
import { DebugView, RankView } from '../model/model';
import { StepMode } from './stepMode';

const RANKS = [0, 1].map(
  rank => ({ rank, phase: 'paused', place: null }) as unknown as RankView
);

/** The step modes of a view that takes what is chosen at once. */
async function shown(): Promise<{
  host: HTMLElement;
  modes: HTMLInputElement[];
  error: () => string;
  end: () => void;
}> {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const draw = (mode: DebugView['mode']): void =>
    root.render(
      <StepMode
        view={makeDebugView({ mode, ranks: RANKS })}
        trans={nullTranslator.load('x')}
        send={(_, args) => args.mode && draw(args.mode as DebugView['mode'])}
      />
    );
  draw('all');
  await vi.waitFor(() =>
    expect(host.querySelectorAll('[type=radio]')).toHaveLength(3)
  );
  return {
    host,
    modes: [...host.querySelectorAll<HTMLInputElement>('[type=radio]')],
    error: () => host.querySelector('[role="status"]')?.textContent ?? '',
    end: () => {
      root.unmount();
      host.remove();
    }
  };
}

it('leads to the field for some ranks, without an error before anything is written', async () => {
  const { host, modes, error, end } = await shown();
  expect(modes[2].labels?.[0].textContent).toBe('Some…');
  modes[2].dispatchEvent(new Event('pointerdown', { bubbles: true }));
  modes[2].click();
  const field = await vi.waitFor(() => {
    const found = host.querySelector<HTMLInputElement>(
      '.jp-DtrainDebug-mode > input'
    );
    expect(found).not.toBeNull();
    expect(document.activeElement).toBe(found);
    return found!;
  });
  expect([error(), field.getAttribute('aria-invalid')]).toEqual(['', 'false']);
  field.blur(); // nothing was written: a step would move no rank
  await vi.waitFor(() => expect(error()).toContain('A step moves no rank'));
  expect(field.getAttribute('aria-invalid')).toBe('true');
  end();
});

it('is one group of radio buttons, in which arrow keys keep the focus', async () => {
  const { host, modes, end } = await shown();
  expect(new Set(modes.map(m => m.name)).size).toBe(1);
  expect(modes.map(m => m.checked)).toEqual([true, false, false]);
  modes[2].focus();
  modes[2].dispatchEvent(new KeyboardEvent('keydown', { bubbles: true }));
  modes[2].click(); // as browsers do for an arrow key
  await vi.waitFor(() => {
    expect(modes.map(m => m.checked)).toEqual([false, false, true]);
    expect(host.querySelector('.jp-DtrainDebug-mode > input')).not.toBeNull();
  });
  expect(document.activeElement).toBe(modes[2]);
  end();
});
