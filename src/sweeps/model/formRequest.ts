import { IParameter, linesOf } from '../../job/model/assignments';
import { IForm, wantedOf } from '../../job/model/formRequest';
import { Sweep, WantedSweep } from '../../tokens';
import {
  combinations,
  isName,
  IVary,
  oddIn,
  spaceOf,
  varyFault
} from './searchSpace';

/** Additional fields of a sweep's form, compared with a job's; texts, as typed. */
export interface ISweepForm {
  vary: Readonly<Record<string, IVary>>;
  objective: string;
  direction: Sweep['direction'];
  sampler: Sweep['sampler'];
  trials: string;
  parallel: string;
  /** Whether bad trials are stopped early. */
  asha: boolean;
}

/** Fields of a sweep's form that can be invalid; a parameter's by its name. */
export type SweepField =
  'vary' | 'objective' | 'sampler' | 'trials' | 'parallel';

/** Fields that a sweep can't begin without. */
export const REQUIRED: readonly SweepField[] = ['vary', 'objective'];

/** Why it can't be sent; `parameter`: the parameter with an invalid range or list. */
export interface ISweepFault {
  field: SweepField;
  parameter?: string;
  /** The value of another type than the others. */
  value?: string | null;
  /** Whether the others are strings, as the notebook's value; else they are numbers. */
  strings?: boolean;
  code:
    | NonNullable<ReturnType<typeof varyFault>>
    | 'no parameters'
    | 'nothing varies'
    | 'no objective'
    | 'no grid'
    | 'no count';
}

/** The default size of a trial: the server returns the actual one. */
export const UNSIZED: Partial<IForm> = { nodes: '', ranksPerNode: '' };
/** Default number of trials. */
const USUAL = 16;
const MOST = 10_000;

export function emptySweep(objectives: readonly string[]): ISweepForm {
  return {
    vary: {},
    objective: objectives[0] ?? '',
    direction: isGood(objectives[0]) ? 'maximize' : 'minimize',
    sampler: 'tpe',
    trials: '',
    parallel: '',
    asha: false
  };
}

/**
 * The form without parameters that the notebook no longer has, which are not displayed.
 *
 * @param defaults - assignments of the notebook's tagged cell
 */
export function withoutRemoved(form: ISweepForm, defaults: string): ISweepForm {
  const names = linesOf(defaults).map(parameter => parameter.name);
  const vary = Object.entries(form.vary).filter(([name]) =>
    names.includes(name)
  );
  return { ...form, vary: Object.fromEntries(vary) };
}

/** Whether higher values are better, judging by the name. */
export function isGood(objective: string | undefined): boolean {
  const name = objective ?? '';
  return (
    /acc|reward|score|f1|auc|bleu|precision|recall/i.test(name) &&
    !/loss|err/i.test(name)
  );
}

/** Whether it is only not filled in yet. */
export function isUnfilled(fault: ISweepFault, form: ISweepForm): boolean {
  return (
    fault.code === 'nothing varies' ||
    fault.code === 'no parameters' ||
    (fault.code === 'no objective' && !form.objective.trim())
  );
}

/**
 * Errors of a sweep's form that can be detected without the server.
 *
 * @param parameters - those that the tagged cell assigns; null if they are unknown
 */
export function sweepFaults(
  form: ISweepForm,
  parameters: readonly IParameter[] | null = null
): ISweepFault[] {
  const faults: ISweepFault[] = [];
  const varied = Object.entries(form.vary).filter(
    ([, one]) => one.kind !== 'fixed'
  );
  for (const [parameter, one] of varied) {
    const code = varyFault(one);
    if (code) {
      const own = parameters?.find(p => p.name === parameter)?.value ?? '';
      const odd = code === 'mixed types' ? oddIn(one.values, own) : null;
      faults.push({ field: 'vary', parameter, code, ...odd });
    }
  }
  if (!varied.length) {
    faults.push({
      field: 'vary',
      code: parameters?.length === 0 ? 'no parameters' : 'nothing varies'
    });
  }
  if (!isName(form.objective)) {
    faults.push({ field: 'objective', code: 'no objective' });
  }
  const endless = varied.some(
    ([, one]) => one.kind === 'uniform' || one.kind === 'loguniform'
  );
  if (form.sampler === 'grid' && endless) {
    faults.push({ field: 'sampler', code: 'no grid' });
  }
  for (const field of ['trials', 'parallel'] as const) {
    if (!isCount(form[field])) {
      faults.push({ field, code: 'no count' });
    }
  }
  return faults;
}

/** Whether a number of trials is valid; an empty field is, too. */
export function isCount(written: string): boolean {
  const text = written.trim();
  return !text || (/^\d+$/.test(text) && +text >= 1 && +text <= MOST);
}

/** Whether a parameter varies. */
export function varies({ vary }: Pick<ISweepForm, 'vary'>): boolean {
  return Object.values(vary).some(({ kind }) => kind !== 'fixed');
}

/** Number of trials. */
export function trialsOf(form: ISweepForm): number {
  const all = combinations(form.vary);
  const usual =
    form.sampler === 'grid' && all !== null ? Math.min(all, MOST) : USUAL;
  const wanted = /^\d+$/.test(form.trials.trim())
    ? Number(form.trials) || usual
    : usual;
  return all === null ? wanted : Math.min(wanted, all);
}

/**
 * The request to the server for a form; invalid ranges and lists are left out.
 *
 * @param defaults - assignments of the notebook's tagged cell
 */
export function wantedSweep(
  sweep: ISweepForm,
  form: IForm,
  notebook: string,
  defaults: string
): WantedSweep {
  const sound = Object.entries(sweep.vary).filter(([, one]) => !varyFault(one));
  const space = spaceOf(Object.fromEntries(sound), linesOf(defaults));
  const asked = wantedOf(form, notebook, defaults);
  const { parameters, nodes, ranks_per_node, ...rest } = asked;
  const fixed = Object.entries(parameters ?? {}).filter(
    ([name]) => !(name in space)
  );
  // an invalid number is left out: the form reports it beside its field
  const count = (text: string): number | null =>
    /^\d+$/.test(text.trim()) ? Number(text) || null : null;
  return {
    ...rest,
    nodes: nodes ?? undefined,
    ranks_per_node: ranks_per_node ?? undefined,
    parameters: Object.fromEntries(fixed),
    space,
    objective: sweep.objective.trim(),
    direction: sweep.direction,
    sampler: sweep.sampler,
    pruner: sweep.asha ? 'asha' : null,
    trials: count(sweep.trials),
    parallel: count(sweep.parallel)
  };
}
