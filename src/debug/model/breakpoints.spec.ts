import { IDebugger } from '@jupyterlab/debugger';
import { expect, it } from 'vitest';

import { Known, pointsOf } from './breakpoints';

const at = (path: string, line: number): IDebugger.IBreakpoint =>
  ({ source: { path }, line, verified: true }) as IDebugger.IBreakpoint;

it('gives a breakpoint one name, with what ranks are asked', () => {
  const known: Known = {
    breakpoints: new Map([['/t/1.py', [at('/t/1.py', 12), at('/t/1.py', 6)]]]),
    getDisplayName: point =>
      point.source?.path === '/t/1.py' ? 'Cell [9]' : 'model.py'
  };
  const asked = {
    path: '/t/1.py',
    line: 6,
    condition: 'rank == 5',
    hit: '',
    log: ''
  };
  const elsewhere = {
    ...asked,
    path: '/home/model.py',
    line: 3,
    condition: ''
  };
  const found = pointsOf(known, [asked, elsewhere], () => '');
  expect(found.map(p => [p.name, p.asks?.condition ?? null, !!p.own])).toEqual([
    ['model.py:3', '', false],
    ['Cell [9]:6', 'rank == 5', true],
    ['Cell [9]:12', null, true]
  ]);
});

it('lists a breakpoint once after a restart of the kernel', () => {
  const [old, cell] = ['/tmp/ipykernel_1/7.py', '/tmp/ipykernel_2/7.py'];
  const known: Known = { breakpoints: new Map([[cell, [at(cell, 5)]]]) };
  const asked = { path: old, line: 5, condition: 'rank', hit: '', log: '' };
  const found = pointsOf(known, [asked], () => 'cell', cell);
  expect(found.map(p => p.path)).toEqual([cell]);
  expect(pointsOf(known, [asked], () => 'cell')).toHaveLength(2);
});

it('names places where JupyterLab 4.2 has no names for them', () => {
  const known: Known = {
    breakpoints: new Map([['/t/1.py', [at('/t/1.py', 5)]]])
  };
  const found = pointsOf(known, [], path => `cell of ${path}`);
  expect(found.map(p => p.name)).toEqual(['cell of /t/1.py:5']);
});
