import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { makePoint } from '../../testing/debug';
import { Breakpoints } from './breakpoints';
import { Refused } from '../model/kernelRequest';
import { DebugModel } from '../model/model';

const asks = makePoint();

it('gives the focus back where a condition was asked for, also by Escape', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  root.render(
    <Breakpoints
      model={{ send: async () => ({}) } as unknown as DebugModel}
      points={[
        { path: 'p', line: 3, name: 'cell [2], line 3', asks, own: null }
      ]}
      show={() => undefined}
      trans={nullTranslator.load('x')}
    />
  );
  const button = (name: string): HTMLButtonElement =>
    [...host.querySelectorAll('button')].find(b =>
      b.textContent?.startsWith(name)
    )!;
  Element.prototype.scrollIntoView = () => undefined;
  const open = async (): Promise<void> => {
    await vi.waitFor(() => expect(button('Add a condition')).toBeDefined());
    button('Add a condition').focus();
    button('Add a condition').click();
    await vi.waitFor(() =>
      expect(document.activeElement?.tagName).toBe('INPUT')
    );
  };
  const isBack = (): Promise<void> =>
    vi.waitFor(() => {
      expect(host.querySelector('form')).toBeNull();
      expect(document.activeElement).toBe(button('Add a condition'));
    });
  await open();
  button('Cancel').focus();
  button('Cancel').click();
  await isBack();
  await open();
  document.activeElement!.dispatchEvent(
    new KeyboardEvent('keydown', { key: 'Escape', bubbles: true })
  );
  await isBack();
  await open();
  button('Save').focus();
  button('Save').click();
  await isBack();
  root.unmount();
  host.remove();
});

it('opens the form of the breakpoint that a command names, each time', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  Element.prototype.scrollIntoView = () => undefined;
  const draw = (edited: { path: string; line: number } | null): void =>
    root.render(
      <Breakpoints
        model={{} as unknown as DebugModel}
        points={[3, 4].map(line => ({
          path: 'p',
          line,
          name: `line ${line}`,
          asks: makePoint({ line }),
          own: null
        }))}
        show={() => undefined}
        edited={edited}
        trans={nullTranslator.load('x')}
      />
    );
  const opens = (): Promise<void> =>
    vi.waitFor(() => {
      const form = host.querySelector('form')!;
      expect(form.closest('li')?.textContent).toContain('line 4');
      expect(form.contains(document.activeElement)).toBe(true);
    });
  draw(null);
  await vi.waitFor(() => expect(host.querySelectorAll('li')).toHaveLength(2));
  expect(host.querySelector('form')).toBeNull();
  draw({ path: 'p', line: 4 });
  await opens();
  [...host.querySelectorAll('button')]
    .find(button => button.textContent === 'Cancel')!
    .click();
  await vi.waitFor(() => expect(host.querySelector('form')).toBeNull());
  draw({ path: 'p', line: 4 });
  await opens();
  root.unmount();
  host.remove();
});

it('scrolls to what a condition raised, where the section is too low', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const seen: string[] = [];
  Element.prototype.scrollIntoView = function () {
    seen.push(this.textContent ?? '');
  };
  const error = 'NameError: nosuch';
  root.render(
    <Breakpoints
      model={{} as unknown as DebugModel}
      points={[
        { path: 'p', line: 3, name: 'x', asks: { ...asks, error }, own: null }
      ]}
      show={() => undefined}
      trans={nullTranslator.load('x')}
    />
  );
  await vi.waitFor(() => expect(seen).toEqual([error]));
  root.unmount();
  host.remove();
});

it('marks the field that the kernel refuses', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const send = async (): Promise<object> => {
    throw new Refused('"often" is not a hit count.', 'unreadable_hit');
  };
  root.render(
    <Breakpoints
      model={{ send } as unknown as DebugModel}
      points={[
        { path: 'p', line: 3, name: 'cell [2], line 3', asks, own: null }
      ]}
      show={() => undefined}
      trans={nullTranslator.load('x')}
    />
  );
  Element.prototype.scrollIntoView = () => undefined;
  await vi.waitFor(() =>
    host.querySelector<HTMLButtonElement>('[aria-expanded]')!.click()
  );
  await vi.waitFor(() => host.querySelector('form')!.requestSubmit());
  await vi.waitFor(() => {
    const alert = host.querySelector('[role=alert]')!;
    expect(alert.textContent).toContain('not a hit count');
    const marked = host.querySelectorAll('[aria-invalid]');
    expect(
      [...marked].map(each => each.getAttribute('aria-describedby'))
    ).toEqual([alert.id]);
    expect(marked[0].closest('label')?.textContent).toBe('Hits');
  });
  root.unmount();
  host.remove();
});

it('has a long condition below the name of the breakpoint', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const point = (line: number, log: string) => ({
    path: 'p',
    line,
    name: 'x',
    asks: makePoint({ line, condition: 'rank == 5', log }),
    own: null
  });
  root.render(
    <Breakpoints
      model={{} as unknown as DebugModel}
      points={[point(3, ''), point(4, 'loss is {loss.item():.3f}')]}
      show={() => undefined}
      trans={nullTranslator.load('x')}
    />
  );
  await vi.waitFor(() =>
    expect(
      [...host.querySelectorAll('code')].map(each => each.dataset.long)
    ).toEqual([undefined, 'true'])
  );
  root.unmount();
  host.remove();
});

it('shows a condition that can not be changed yet', async () => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  const kept = makePoint({ condition: 'rank == 1', hit: '>= 3' });
  root.render(
    <Breakpoints
      model={{} as unknown as DebugModel}
      points={[{ path: 'p', line: 3, name: 'x', asks: kept, own: null }]}
      show={() => undefined}
      fixed
      trans={nullTranslator.load('x')}
    />
  );
  await vi.waitFor(() =>
    expect(host.textContent).toBe('xrank == 1 · hits >= 3')
  );
  root.unmount();
  host.remove();
});
