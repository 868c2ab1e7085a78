import { IDebugger } from '@jupyterlab/debugger';
import { nullTranslator } from '@jupyterlab/translation';
import { expect, it } from 'vitest';

import { makePoint } from '../../testing/debug';
import { pointsWithConditions, BreakpointModel, pointsOf } from './breakpoints';

const trans = nullTranslator.load('dtrain_lab');
const CELL = '/tmp/ipykernel_1/1.py';

const at = (path: string, line: number): IDebugger.IBreakpoint =>
  ({ source: { path }, line, verified: true }) as IDebugger.IBreakpoint;

it('gives a breakpoint one name, with what ranks are asked', () => {
  const known: BreakpointModel = {
    breakpoints: new Map([[CELL, [at(CELL, 12), at(CELL, 6)]]]),
    getDisplayName: point =>
      point.source?.path === CELL ? 'Cell [9]' : '/home/model.py'
  };
  const asked = makePoint({ path: CELL, line: 6, condition: 'rank == 5' });
  const elsewhere = makePoint({ path: '/home/model.py' });
  const found = pointsOf(known, [asked, elsewhere], () => '', trans);
  expect(found.map(p => [p.name, p.asks?.condition ?? null, !!p.own])).toEqual([
    ['model.py:3', '', false],
    ['Cell [9], line\u00a06', 'rank == 5', true],
    ['Cell [9], line\u00a012', null, true]
  ]);
});

it('lists a breakpoint once after a restart of the kernel', () => {
  const [old, cell] = ['/tmp/ipykernel_1/7.py', '/tmp/ipykernel_2/7.py'];
  const known: BreakpointModel = {
    breakpoints: new Map([[cell, [at(cell, 5)]]])
  };
  const asked = makePoint({ path: old, line: 5, condition: 'rank' });
  const found = pointsOf(known, [asked], () => 'cell', trans, cell);
  expect(found.map(p => p.path)).toEqual([cell]);
  expect(pointsOf(known, [asked], () => 'cell', trans)).toHaveLength(2);
});

it('lists what breakpoints ask while no kernel reports it', () => {
  const known: BreakpointModel = {
    breakpoints: new Map([[CELL, [at(CELL, 5), at(CELL, 6)]]])
  };
  const asked = makePoint({ path: CELL, line: 5, condition: 'rank == 1' });
  const kept = pointsWithConditions(known, (path, line) =>
    path === CELL && line === 5 ? asked : null
  );
  expect(kept).toEqual([asked]);
  const found = pointsOf(known, kept, () => 'cell [9]', trans, CELL);
  expect(found.map(p => p.asks?.condition)).toEqual(['rank == 1', undefined]);
});

it('names places where JupyterLab 4.2 has no names for them', () => {
  const known: BreakpointModel = {
    breakpoints: new Map([[CELL, [at(CELL, 5)]]])
  };
  const found = pointsOf(known, [], () => 'cell [9]', trans);
  expect(found.map(p => p.name)).toEqual(['cell [9], line\u00a05']);
});
