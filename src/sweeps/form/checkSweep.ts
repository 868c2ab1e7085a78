import { TranslationBundle } from '@jupyterlab/translation';
import { useCallback } from 'react';

import { faultSentence, IFault } from '../../job/fields/fieldErrors';
import { AskPlan, IChecked, wantedWith } from '../../job/form/checkForm';
import { followedIn } from '../../job/form/initialForm';
import { INotebook } from '../../job/form/notebook';
import { IFindingsTexts } from '../../job/form/findingsTexts';
import { IParameter } from '../../job/model/assignments';
import { alsoOf } from '../../job/model/refusal';
import { RequestError } from '../../request/rest';
import { Finding, ISweeps, SweepPlan } from '../../tokens';
import {
  ISweepFault,
  ISweepForm,
  isUnfilled,
  SweepField,
  sweepFaults,
  wantedSweep
} from '../model/formRequest';
import { faultSentence as ownSentence } from '../model/texts';

/** Additional fields of a sweep's request, compared with a job's, and their place in the form. */
const FIELDS: Readonly<Record<string, readonly SweepField[]>> = {
  space: ['vary', 'sampler'],
  objective: ['objective'],
  sampler: ['sampler'],
  trials: ['trials'],
  parallel: ['parallel']
};

/** Requests the plan of a sweep, with everything that keeps it from beginning. */
export function useSweepPlan(
  sweeps: ISweeps,
  sweep: ISweepForm,
  notebook: INotebook
): AskPlan<SweepPlan> {
  return useCallback(
    async (filled, asks) => {
      const { names } = await wantedWith(filled, notebook);
      const { form, defaults } = followedIn(filled, notebook);
      const wanted = wantedSweep(sweep, form, notebook.path, defaults);
      return sweeps.plan({ ...wanted, names }, asks);
    },
    [sweeps, sweep, notebook]
  );
}

/** What keeps a sweep from beginning. */
export interface ISweepProblems {
  /** Errors of the fields that only a sweep has. */
  own: readonly ISweepFault[];
  /** Those of them that are not filled in yet, while nothing else is wrong: the form then says what comes next. */
  lacking: readonly ISweepFault[];
  /** What the server found, without what the form has found itself. */
  found: Finding[];
  /** All of it in one sentence; empty if the sweep can begin. */
  why: string;
}

/** The fields of a sweep's form. */
interface IFields {
  sweep: ISweepForm;
  /** Fields that are at fault if they are not filled in: the user has changed them, or has tried to begin. */
  due: readonly SweepField[];
  /** Those that the tagged cell assigns. */
  parameters: readonly IParameter[];
  /** Errors of the fields that a job has, too. */
  faults: readonly IFault[];
}

/** What keeps a sweep from beginning, by its form and by the server's check. */
export function problemsOfSweep(
  { sweep, due, parameters, faults }: IFields,
  checked: IChecked<SweepPlan>,
  trans: TranslationBundle
): ISweepProblems {
  const { plan, error, busy } = checked;
  const own = sweepFaults(sweep, parameters);
  const findings = withoutOwn(
    error ? alsoOf(error) : (plan?.findings ?? []),
    own
  );
  const others = [
    ...faults.map(fault => faultSentence(fault, trans)),
    ...(error ? [error.message] : []),
    ...findings.filter(f => f.severity === 'problem').map(f => f.message)
  ];
  // beside other problems, one that is left out makes the report and the bar count differently
  const isNext =
    !others.length &&
    own.every(fault => isUnfilled(fault, sweep) && !due.includes(fault.field));
  const mine = own.map(fault => ownSentence(fault, trans));
  const problems = isNext ? mine.slice(0, 1) : [...mine, ...others];
  return {
    own,
    lacking: isNext ? own : [],
    found: findings,
    why: whyNot(problems, trans) || (busy ? trans.__('Checking…') : '')
  };
}

/** The server's findings, without those that the form has found itself. */
export function withoutOwn(
  findings: readonly Finding[],
  own: readonly ISweepFault[]
): Finding[] {
  return findings.filter(({ field }) =>
    (FIELDS[field ?? ''] ?? []).every(at => own.every(f => f.field !== at))
  );
}

/** A field of a sweep that the server refused. */
export interface IRefused {
  field: string;
  parameter: unknown;
  text: string;
}

/** Fields of a sweep that the server refused: all of it, or by its findings. */
export function refusedIn(
  error: RequestError | null,
  findings: readonly Finding[]
): IRefused[] {
  const given = error?.body.details;
  const whole =
    error && typeof given?.field === 'string'
      ? [
          {
            field: given.field,
            parameter: given.parameter,
            text: error.message
          }
        ]
      : [];
  const parts = findings
    .filter(({ severity, field }) => severity === 'problem' && field)
    .map(({ field, parameter, message, fix }) => ({
      field: field ?? '',
      parameter,
      text: `${message} ${fix}`.trim()
    }));
  return [...whole, ...parts];
}

/** Result of the check of a sweep. */
export function wordsOfSweep(trans: TranslationBundle): IFindingsTexts {
  return {
    ready: trans.__('Ready to start'),
    unsaved: trans.__(
      'The check and the script are of the saved notebook. Start sweep saves the changes first, and checks again.'
    ),
    warned: count =>
      trans._n('Ready, with %1 warning', 'Ready, with %1 warnings', count),
    stopped: count =>
      trans._n(
        '%1 problem stops this sweep',
        '%1 problems stop this sweep',
        count
      ),
    refused: trans.__("This sweep can't start.")
  };
}

/**
 * Why a sweep can't begin, in one sentence; empty if it can.
 *
 * @param problems - all of them, the first one first
 */
export function whyNot(
  problems: readonly string[],
  trans: TranslationBundle
): string {
  return problems.length > 1
    ? trans._n(
        '%2 And %1 more problem.',
        '%2 And %1 more problems.',
        problems.length - 1,
        problems[0]
      )
    : (problems[0] ?? '');
}
