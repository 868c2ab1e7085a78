import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import React from 'react';
import { afterEach, expect, it, vi } from 'vitest';

import { useViewState, useViewStateRef } from './viewState';
import { VisibleWidget } from './visibleWidget';

function Count(): JSX.Element {
  const [count, setCount] = useViewState('count', 0);
  const first = useViewStateRef('first', 0);
  first.current ||= count;
  return (
    <button onClick={() => setCount(n => n + 1)}>
      {count} {first.current}
    </button>
  );
}

class Counter extends VisibleWidget {
  constructor() {
    super(() => null, nullTranslator.load('dtrain_lab'));
  }

  protected draw(): JSX.Element {
    return <Count />;
  }
}

let widget: Counter;

async function shows(text: string): Promise<void> {
  await vi.waitFor(() => {
    MessageLoop.flush();
    expect(widget.node.textContent).toBe(text);
  });
}

afterEach(() => widget.dispose());

it('keeps what was chosen, and where it was scrolled to, while it is not drawn', async () => {
  widget = new Counter();
  Widget.attach(widget, document.body);
  await shows('0 0');
  widget.node.querySelector('button')!.click();
  await shows('1 1');
  widget.node.querySelector('button')!.click();
  await shows('2 1');
  widget.node.scrollTop = 40;
  widget.node.dispatchEvent(new Event('scroll'));
  widget.hide();
  await shows('');
  widget.node.scrollTop = 0;
  widget.show();
  await shows('2 1');
  expect(widget.node.scrollTop).toBe(40);
});

it('is scrolled to where it was once what is drawn reaches so far, unless somebody scrolls', async () => {
  widget = new Counter();
  const { node } = widget;
  let [room, top] = [100, 0];
  Object.defineProperties(node, {
    scrollHeight: { get: () => room },
    scrollTop: {
      get: () => top,
      set: (to: number) => (top = Math.min(to, room))
    }
  });
  const scroll = (to: number): void => {
    node.scrollTop = to;
    node.dispatchEvent(new Event('scroll'));
  };
  const again = async (): Promise<void> => {
    widget.hide();
    await shows('');
    room = 10;
    scroll(0);
    widget.show();
    await shows('0 0');
    scroll(10);
  };
  const grow = async (): Promise<void> => {
    room = 100;
    node.append(document.createElement('p'));
    await Promise.resolve();
  };
  Widget.attach(widget, document.body);
  await shows('0 0');
  scroll(40);
  await again();
  expect(top).toBe(10);
  await grow();
  expect(top).toBe(40);
  await again();
  scroll(5);
  await grow();
  expect(top).toBe(5);
});

it('keeps it for itself', async () => {
  const other = new Counter();
  Widget.attach(other, document.body);
  widget = new Counter();
  Widget.attach(widget, document.body);
  await shows('0 0');
  await vi.waitFor(() => expect(other.node.textContent).toBe('0 0'));
  other.node.querySelector('button')!.click();
  await vi.waitFor(() => expect(other.node.textContent).toBe('1 1'));
  expect(widget.node.textContent).toBe('0 0');
  other.dispose();
});

function Once(): JSX.Element {
  const [done, setDone] = useViewState('done', false);
  return done ? <p>{1}</p> : <button onClick={() => setDone(true)}>{0}</button>;
}

class Ends extends Counter {
  protected override draw(): JSX.Element {
    return <Once />;
  }
}

it('keeps the keyboard when what had the focus is gone', async () => {
  widget = new Ends();
  Widget.attach(widget, document.body);
  await shows('0');
  const button = widget.node.querySelector('button')!;
  button.focus();
  button.click();
  await shows('1');
  await vi.waitFor(() => expect(document.activeElement).toBe(widget.node));
});

class Fails extends Counter {
  fault: string | null = 'it is no number';

  protected override draw(): JSX.Element {
    return <Draws of={this} />;
  }
}

function Draws({ of }: { of: Fails }): JSX.Element {
  if (of.fault) {
    throw new Error(of.fault);
  }
  return <>{1}</>;
}

it('says so where drawing fails, and can be asked again', async () => {
  const logged = vi.spyOn(console, 'error').mockReturnValue();
  const failing = (widget = new Fails());
  Widget.attach(widget, document.body);
  const said = await vi.waitFor(() => {
    MessageLoop.flush();
    return widget.node.querySelector('[role=alert]')!.textContent;
  });
  expect(said).toContain('error in dtrain-lab (Error: it is no number)');
  failing.fault = null;
  widget.node.querySelector('button')!.click();
  await shows('1');
  logged.mockRestore();
});
