import { CommandRegistry } from '@lumino/commands';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { expect, it, vi } from 'vitest';

import { CommandLink } from './commandLink';

/** A link to a command, and with what it was run; the command may be missing. */
async function shown(has: boolean): Promise<{
  host: HTMLElement;
  ran: unknown[];
  end: () => void;
}> {
  const commands = new CommandRegistry();
  const ran: unknown[] = [];
  if (has) {
    commands.addCommand('go', { execute: args => void ran.push(args) });
  }
  const host = document.body.appendChild(document.createElement('div'));
  const root = createRoot(host);
  root.render(
    <CommandLink command="go" args={{ line: 3 }} commands={commands}>
      line 3
    </CommandLink>
  );
  await vi.waitFor(() => expect(host.textContent).toBe('line 3'));
  return {
    host,
    ran,
    end: () => {
      root.unmount();
      host.remove();
    }
  };
}

it('runs its command as a button does', async () => {
  const { host, ran, end } = await shown(true);
  host.querySelector('button')!.click();
  expect(ran).toEqual([{ line: 3 }]);
  end();
});

it('is only a text where the plugin of its command is disabled', async () => {
  const { host, end } = await shown(false);
  expect(host.querySelector('button')).toBeNull();
  end();
});
