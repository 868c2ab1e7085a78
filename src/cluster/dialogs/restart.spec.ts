import { Dialog } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { afterEach, expect, it, vi } from 'vitest';

import { RequestError } from '../../request/rest';
import { makeCluster, makeRank } from '../../testing/clusters';
import { askSize } from './dialogs';
import { askRestart } from './restart';

const trans = nullTranslator.load('dtrain_lab');
const cluster = makeCluster({
  ranks: [0, 1, 2, 3].map(n => makeRank(n)),
  world: { ...makeCluster().world, size: 4 }
});

afterEach(() => {
  Dialog.flush();
});

const input = (): HTMLInputElement =>
  document.querySelector<HTMLInputElement>('.jp-Dialog input')!;
const accept = (): HTMLButtonElement =>
  document.querySelector<HTMLButtonElement>('.jp-Dialog .jp-mod-accept')!;
function type(text: string): void {
  input().value = text;
  input().dispatchEvent(new Event('input', { bubbles: true }));
}

it('restarts what its button says, and nothing while the ranks are wrong or not told', async () => {
  const asked = askRestart(cluster, [3], null, trans);
  await vi.waitFor(() => expect(accept().textContent).toBe('Restart rank 3'));
  for (const [wrong, fault] of [
    ['9', 'There is no rank 9: the last one is rank 3.'],
    ['1-12', 'There is no rank 12: the last one is rank 3.'],
    ['abc', 'Enter ranks like this: 0,2-3.'],
    ['', 'Ranks']
  ]) {
    type(wrong);
    expect([wrong, accept().disabled]).toEqual([wrong, true]);
    // below the field
    expect(input().parentElement!.textContent).toContain(fault);
    // Enter is another way to the button
    input().dispatchEvent(
      new KeyboardEvent('keydown', { keyCode: 13, bubbles: true } as object)
    );
    expect(document.querySelector('.jp-Dialog')).not.toBeNull();
  }
  expect(document.querySelector('.jp-Dialog')!.textContent).toContain(
    'Which ranks? All of them are 0-3.'
  );
  type('0-3');
  expect(accept().textContent).toBe('Restart all 4 ranks');
  type('0,2');
  expect(accept().textContent).toBe('Restart 2 ranks');
  expect(accept().disabled).toBe(false);
  accept().click();
  expect(await asked).toEqual({ ranks: [0, 2], source: null });
});

it("says beside the field why a size can't be", async () => {
  const resize = vi
    .fn()
    .mockRejectedValueOnce(
      new RequestError(400, {
        code: 'bad_size',
        message: '300 ranks are too many.',
        hint: 'Ask for at most 64.',
        details: {}
      })
    )
    .mockResolvedValue(undefined);
  const done = askSize(cluster, trans, resize);
  await vi.waitFor(() => expect(input().value).toBe('4'));
  const said = (): string => document.querySelector('.jp-Dialog')!.textContent!;
  accept().click();
  expect(said()).toContain('It has 4 now: enter another number.');
  type('0');
  accept().click();
  expect(said()).toContain('0 is too low. Enter 1 or more.');
  expect(resize).not.toHaveBeenCalled();
  type('300');
  accept().click();
  await vi.waitFor(() => expect(said()).toContain('300 ranks are too many.'));
  expect(said().split('Ask for at most 64.')).toHaveLength(2);
  type('2');
  expect(said()).not.toContain('too many');
  accept().click();
  await done;
  expect(resize).toHaveBeenLastCalledWith(2);
});
