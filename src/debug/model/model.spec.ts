import { IDebugger } from '@jupyterlab/debugger';
import { Signal } from '@lumino/signaling';
import { expect, it } from 'vitest';

import { DebugModel } from './model';

/** JupyterLab's debugger, as far as the model uses it. */
function fake(): {
  debug: IDebugger;
  asked: string[];
  title: (name: string) => void;
  say: (on: boolean) => void;
  session: { isStarted: boolean };
} {
  const asked: string[] = [];
  const owner = {};
  const title = new Signal<unknown, string>(owner);
  const message = new Signal<unknown, object>(owner);
  const session = {
    isStarted: false,
    sendRequest: async (command: string) => {
      asked.push(command);
      return { success: true };
    }
  };
  const debug = {
    session,
    eventMessage: message,
    sessionChanged: new Signal(owner),
    model: { titleChanged: title }
  } as unknown as IDebugger;
  const say = (on: boolean): void =>
    message.emit({ event: 'dtrain/state', body: { on, ranks: [] } });
  return { debug, asked, session, say, title: name => title.emit(name) };
}

it('asks for the ranks of a notebook that was debugged before the page was loaded', () => {
  const { debug, asked, title, session } = fake();
  new DebugModel(debug);
  title('-');
  expect(asked).toEqual([]);
  session.isStarted = true;
  title('train.ipynb');
  title('other.ipynb');
  expect(asked).toEqual(['dtrain/state', 'dtrain/state']);
});

it('still says that the debugger is off once it has been switched off', () => {
  const { debug, title, session, say } = fake();
  const model = new DebugModel(debug);
  session.isStarted = true;
  say(true);
  session.isStarted = false;
  say(false);
  title('-');
  expect(model.view?.on).toBe(false);
});
