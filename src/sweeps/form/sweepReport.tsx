import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { IFault } from '../../job/fields/fieldErrors';
import { labelOf } from '../../job/fields/labels';
import { IChecked } from '../../job/form/checkForm';
import { CheckFindings } from '../../job/form/findings';
import { INotebook } from '../../job/form/notebook';
import { FIELDS } from '../../job/model/formRequest';
import { Finding, SweepPlan } from '../../tokens';
import { ISweepFault } from '../model/formRequest';
import { faultSentence, fieldText } from '../model/texts';
import { ISweepProblems, wordsOfSweep } from './checkSweep';

/** The field of the form at which an error can be fixed. */
export function placeOf(fault: ISweepFault): string {
  return `[data-sweep='${fault.parameter ?? fault.field}']`;
}

/** Result of the check of a sweep, with links to the fields and cells at fault. */
export function SweepReport(props: {
  notebook: INotebook;
  checked: IChecked<SweepPlan>;
  problems: ISweepProblems;
  /** Errors of the fields that a job has, too. */
  faults: readonly IFault[];
  again: () => void;
  /** Whether the notebook has code that its file lacks. */
  unsaved: boolean;
  /** Focuses the field with a selector. */
  focus: (selector: string) => void;
  /** Shows the preview; null if it is visible anyway, or there is none. */
  preview: (() => void) | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { notebook, checked, problems, faults, focus, trans } = props;
  const { plan, error, busy, at } = checked;
  const { own, lacking, found } = problems;
  const open = (finding: Finding): void => {
    const field = FIELDS[finding.field ?? ''];
    if (finding.parameter) {
      focus(`[data-sweep='${finding.parameter}']`);
    } else if (field) {
      focus(`[data-field='${field}']`);
    } else {
      notebook.open(finding.cell ?? undefined, finding.line ?? undefined);
    }
  };
  return (
    <CheckFindings
      plan={plan ? { ...plan, findings: found } : null}
      own={own
        .filter(fault => !lacking.includes(fault))
        .map(fault => ({
          text: faultSentence(fault, trans),
          label:
            fault.parameter === undefined
              ? fieldText(fault.field, trans)
              : labelOf('parameters', trans),
          open: () => focus(placeOf(fault))
        }))}
      lacks={lacking.length ? faultSentence(lacking[0], trans) : ''}
      words={wordsOfSweep(trans)}
      faults={faults}
      error={error}
      busy={busy}
      at={at}
      trans={trans}
      open={open}
      openFault={({ field }) => focus(`[data-field='${field}']`)}
      again={props.again}
      save={props.unsaved ? () => notebook.save() : null}
      preview={props.preview}
    />
  );
}
