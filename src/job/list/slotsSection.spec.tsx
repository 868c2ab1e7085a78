import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { makeCommands } from '../../testing/commands';
import { IJobs, ILiveState, ISite } from '../../tokens';
import { ViewState, ViewStateContext } from '../../ui/viewState';
import { SlotsSection } from './slots';

it('brings the slots into view that a waiting job leads to, once they are known', async () => {
  const changing = (more: object): object =>
    Object.assign(more, { changed: new Signal<object, void>(more) });
  const seen = vi.fn();
  Element.prototype.scrollIntoView = seen;
  const slots = vi.fn(async () => ({
    nodes: [{ name: 'a', slots: [], waiting: [], excess: 0 }]
  }));
  const choices = new ViewState();
  const host = document.createElement('div');
  document.body.append(host);
  const root = createRoot(host);
  root.render(
    <ViewStateContext.Provider value={choices}>
      <SlotsSection
        model={changing({ jobs: [], clusters: [] }) as ILiveState}
        site={changing({ profiles: [] }) as unknown as ISite}
        jobs={{ slots } as unknown as IJobs}
        commands={makeCommands()}
        trans={nullTranslator.load('dtrain_lab')}
      />
    </ViewStateContext.Provider>
  );
  await vi.waitFor(() => expect(host.querySelector('details')).not.toBeNull());
  expect(slots).not.toHaveBeenCalled();
  choices.set('slots of', 'two hosts');
  choices.set('slots', true);
  choices.set('slots sought', true);
  await vi.waitFor(() => expect(seen).toHaveBeenCalledOnce());
  expect(slots).toHaveBeenCalledWith('two hosts');
  expect(document.activeElement?.tagName).toBe('SUMMARY');
  root.unmount();
  host.remove();
});
