import { TranslationBundle } from '@jupyterlab/translation';
import { useCallback } from 'react';

import { AskPlan, wantedWith } from '../../job/form/checkForm';
import { followedIn } from '../../job/form/initialForm';
import { INotebook } from '../../job/form/notebook';
import { IFindingsTexts } from '../../job/form/findings';
import { Finding, ISweeps, SweepPlan } from '../../tokens';
import {
  ISweepFault,
  ISweepForm,
  SweepField,
  wantedSweep
} from '../model/formRequest';

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

/** The server's findings, without those that the form has found itself. */
export function withoutOwn(
  findings: readonly Finding[],
  own: readonly ISweepFault[]
): Finding[] {
  return findings.filter(({ field }) =>
    (FIELDS[field ?? ''] ?? []).every(at => own.every(f => f.field !== at))
  );
}

/** Fields of a sweep that the server refused. */
export function refusedIn(
  findings: readonly Finding[]
): { field: string; parameter: unknown; text: string }[] {
  return findings
    .filter(({ severity, field }) => severity === 'problem' && field)
    .map(({ field, parameter, message, fix }) => ({
      field: field ?? '',
      parameter,
      text: `${message} ${fix}`.trim()
    }));
}

/** Result of the check of a sweep. */
export function wordsOfSweep(trans: TranslationBundle): IFindingsTexts {
  return {
    ready: trans.__('Ready to start'),
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
