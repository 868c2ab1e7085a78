import { DebugView, SetBreakpoint } from '../debug/model/model';

/** A breakpoint on ranks, as their kernel reports one. */
export function makePoint(more: Partial<SetBreakpoint> = {}): SetBreakpoint {
  return {
    path: 'p',
    line: 3,
    condition: '',
    hit: '',
    log: '',
    error: '',
    ...more
  };
}

/** Ranks under the debugger, as their kernel reports them: two are paused. */
export function makeDebugView(more: Partial<DebugView> = {}): DebugView {
  return {
    on: true,
    focus: 0,
    mode: 'all',
    chosen: [],
    ranks: [],
    points: [],
    pausing: [],
    stepping: [],
    bringing: null,
    reached: false,
    cells: {},
    world: '',
    code: 'paused',
    sentence: 'Paused on 2 ranks.',
    waits: [],
    notes: [],
    held_elsewhere: false,
    failed: false,
    error: '',
    raised: [],
    interrupted: [],
    inside: [],
    only_interrupted: false,
    ...more
  };
}
