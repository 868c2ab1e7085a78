import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { Finding } from '../../tokens';
import { IFault } from '../fields/fieldErrors';
import { INotebook } from './notebook';
import { alsoOf } from '../model/refusal';
import { FIELDS } from '../model/formRequest';
import { IChecked } from './checkForm';
import { CheckFindings } from './findings';

/** What keeps a job from being submitted. */
export interface IJobProblems {
  /** What the server found. */
  found: readonly Finding[];
  /** Why it can't be submitted, in one sentence; empty if it can. */
  why: string;
}

/**
 * What keeps a job from being submitted, by its form and by the server's check.
 *
 * @param faults - errors of the form itself
 */
export function problemsOfJob(
  faults: readonly IFault[],
  checked: IChecked,
  trans: TranslationBundle
): IJobProblems {
  const { plan, error, busy } = checked;
  const findings = error ? alsoOf(error) : (plan?.findings ?? []);
  const problems =
    faults.length +
    findings.filter(f => f.severity === 'problem').length +
    (error?.body.details.field ? 1 : 0);
  if (problems) {
    const why = trans._n(
      'Fix %1 problem to submit',
      'Fix %1 problems to submit',
      problems
    );
    return { found: findings, why };
  }
  return {
    found: findings,
    why: busy ? trans.__('Checking…') : (error?.message ?? '')
  };
}

/** Result of the check of a job, with links to the fields and cells at fault. */
export function SubmitReport(props: {
  notebook: INotebook;
  checked: IChecked;
  /** Errors of the form itself. */
  faults: readonly IFault[];
  again: () => void;
  /** Whether the notebook has code that its file lacks. */
  unsaved: boolean;
  /** Focuses the field with a selector. */
  focus: (selector: string) => void;
  /** Scroll to the preview, if it is below the form; null if there is none yet. */
  preview: (() => void) | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { notebook, checked, focus } = props;
  const { plan, error, busy, at } = checked;
  return (
    <CheckFindings
      plan={plan}
      faults={props.faults}
      error={error}
      busy={busy}
      at={at}
      trans={props.trans}
      open={finding => {
        const field = FIELDS[finding.field ?? ''];
        if (field) {
          focus(`[data-field='${field}']`);
        } else {
          notebook.open(finding.cell ?? undefined, finding.line ?? undefined);
        }
      }}
      openFault={({ field }) => focus(`[data-field='${field}']`)}
      again={props.again}
      save={props.unsaved ? () => notebook.save() : null}
      preview={props.preview}
    />
  );
}
