import { readFileSync } from 'node:fs';

import { Notification } from '@jupyterlab/apputils';
import { Debugger } from '@jupyterlab/debugger';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';

import { WIDGET_CLASSES } from './ipywidgets';
import { CLASSES, DEBUGGER_SIDEBAR } from './markup';
import { ForeignName, NAMES, reporter } from './names';

const trans = nullTranslator.load('');
const names = Object.keys(NAMES) as ForeignName[];

it('finds them in the JupyterLab that is installed', () => {
  for (const name of [
    'updateBreakpoints',
    'restoreState',
    'pauseOnExceptions'
  ]) {
    expect(Debugger.Service.prototype).toHaveProperty(name);
  }
  expect(Debugger.Session.prototype).toHaveProperty('sendRequest');
  expect(Debugger.Session.prototype).toHaveProperty('start');
  expect(Debugger.Sources.prototype).toHaveProperty('find');
  expect(Debugger.Handler.prototype).toHaveProperty('updateWidget');
  const service = new Debugger.Service({ config: new Debugger.Config() });
  expect(service.eventMessage).toBeInstanceOf(Signal);
});

it('says once what is lost without a name, and names it for developers', () => {
  const told = vi.spyOn(Notification, 'warning').mockReturnValue('');
  const logged = vi.spyOn(console, 'warn').mockReturnValue(undefined);
  const report = reporter(trans);
  for (const name of [...names, ...names]) {
    report(name);
  }
  expect(told).toHaveBeenCalledTimes(names.length);
  const [[first]] = logged.mock.calls;
  expect(first).toContain('(JupyterLab has no IDebugger.updateBreakpoints)');
  for (const [text] of told.mock.calls) {
    expect(text).toMatch(/^This version of JupyterLab .*\. [A-Z].*\.$/);
  }
});

it('has all of them, and all classes, in ARCHITECTURE.md', () => {
  const [, section] = readFileSync('ARCHITECTURE.md', 'utf8').split(
    '## Private parts of others'
  );
  const listed = new Set([...section.matchAll(/`([^`\n]+)`/g)].map(m => m[1]));
  const used = [
    ...names,
    DEBUGGER_SIDEBAR,
    ...Object.values(CLASSES),
    ...Object.values(WIDGET_CLASSES).flat()
  ];
  expect(used.filter(name => !listed.has(name))).toEqual([]);
});
