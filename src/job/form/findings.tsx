import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { questionsOf, signIn } from '../../cluster/dialogs/signin';
import { RequestError } from '../../request/rest';
import { Finding, JobPlan } from '../../tokens';
import { formatClock } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { GlyphKind } from '../../verdicts/glyphKind';
import { faultSentence, IFault } from '../fields/fieldErrors';
import { labelOf } from '../fields/labels';
import { alsoOf } from '../model/refusal';
import { FIELDS } from '../model/formRequest';

const GLYPHS: Record<Finding['severity'], GlyphKind> = {
  problem: 'failed',
  warning: 'slow',
  note: 'todo'
};

function severityWord(
  severity: Finding['severity'],
  trans: TranslationBundle
): string {
  switch (severity) {
    case 'problem':
      return trans.__('problem');
    case 'warning':
      return trans.__('warning');
    default:
      return trans.__('note');
  }
}

/** Keys of findings, so that unfolded ones stay unfolded when others come or go; equal ones are numbered. */
function keyed(findings: readonly Finding[]): [string, Finding][] {
  const counts = new Map<string, number>();
  return findings.map(finding => {
    const { code, cell, line, field, parameter, message } = finding;
    const same = [code, cell, line, field, parameter, message].join(' ');
    const count = (counts.get(same) ?? 0) + 1;
    counts.set(same, count);
    return [`${same} ${count}`, finding];
  });
}

/** A problem of a form that has additional fields. */
export interface IOwnProblem {
  text: string;
  /** Label of the field that it links to. */
  label: string;
  open: () => void;
}

/** Contents of a report. */
export interface IFindingsTexts {
  ready: string;
  /** Whether it is ready, except for warnings. */
  warned: (warnings: number) => string;
  stopped: (problems: number) => string;
  refused: string;
}

export function wordsOfJob(trans: TranslationBundle): IFindingsTexts {
  return {
    ready: trans.__('Ready to submit'),
    warned: count =>
      trans._n('Ready, with %1 warning', 'Ready, with %1 warnings', count),
    stopped: count =>
      trans._n('%1 problem stops this job', '%1 problems stop this job', count),
    refused: trans.__("This can't be submitted.")
  };
}

/** Selector of the links of findings, for a form that focuses the first one. */
export const FINDING_LINKS = '.jp-DtrainJob-findings button';

interface IFindingsProps {
  plan: JobPlan | null;
  /** Errors of the form itself. */
  faults: readonly IFault[];
  /** Problems of fields that a job's form lacks. */
  own?: readonly IOwnProblem[];
  /** Fields that are not filled in yet; empty if none. */
  lacks?: string;
  words?: IFindingsTexts;
  error: RequestError | null;
  busy: boolean;
  /** Time of the check. */
  at?: Date;
  trans: TranslationBundle;
  open: (finding: Finding) => void;
  openFault: (fault: IFault) => void;
  again: () => void;
  /** Scroll to the preview, if it is below the form; null if there is none yet. */
  preview: (() => void) | null;
}

/** Result of the check: one sentence, then each finding with its fix and place. */
export function CheckFindings(props: IFindingsProps): JSX.Element {
  const { plan, error, faults, trans } = props;
  const found = error ? alsoOf(error) : (plan?.findings ?? []);
  const notes = found.filter(f => f.severity === 'note');
  const asked = questionsOf(error);
  return (
    <section className="jp-DtrainJob-check" aria-label={trans.__('Check')}>
      <div className="jp-DtrainJob-reportHead">
        <h2>
          <span role="status">{sentence(props, found)}</span>
        </h2>
        <div className="jp-DtrainJob-reportSide">
          {props.at && !props.busy && faults.length === 0 && (
            <span className="jp-DtrainUi-under">
              {trans.__(
                'Checked at %1; nothing was run.',
                formatClock(props.at, true)
              )}
            </span>
          )}
          <button
            type="button"
            className="jp-DtrainUi-link"
            onClick={props.again}
            disabled={props.busy}
          >
            {trans.__('Check again')}
          </button>
          {props.preview && (
            <button
              type="button"
              className="jp-DtrainUi-link"
              onClick={props.preview}
            >
              {trans.__('See what will run')}
            </button>
          )}
        </div>
      </div>
      <ul className="jp-DtrainJob-findings">
        {props.own?.map(problem => (
          <li key={problem.text} data-severity="problem">
            <Glyph kind="failed" label={trans.__('problem')} />
            <div>
              <b>{problem.text}</b>
            </div>
            <button
              type="button"
              className="jp-DtrainUi-link"
              onClick={problem.open}
            >
              {problem.label}
            </button>
          </li>
        ))}
        {faults.map(fault => (
          <li
            key={`${fault.field} ${fault.parameter ?? ''}`}
            data-severity="problem"
          >
            <Glyph kind="failed" label={trans.__('problem')} />
            <div>
              <b>{faultSentence(fault, trans)}</b>
            </div>
            <button
              type="button"
              className="jp-DtrainUi-link"
              onClick={() => props.openFault(fault)}
            >
              {labelOf(fault.field, trans)}
            </button>
          </li>
        ))}
        {error && (
          <li data-severity="problem">
            <Glyph kind="failed" label={trans.__('problem')} />
            <div>
              <b>{error.body.message}</b>
              <p>{error.body.hint}</p>
            </div>
            {asked && (
              <button
                type="button"
                className="jp-DtrainUi-link"
                onClick={() =>
                  void reportErrors(trans, async () => {
                    await signIn(asked, trans);
                    props.again();
                  })
                }
              >
                {trans.__('Sign in…')}
              </button>
            )}
          </li>
        )}
        {keyed(found.filter(f => f.severity !== 'note')).map(
          ([key, finding]) => (
            <Item key={key} {...props} finding={finding} />
          )
        )}
        {notes.length > 0 && (
          <li className="jp-DtrainJob-notes">
            <details>
              <summary>
                {trans._n(
                  '%1 note on what a job does differently',
                  '%1 notes on what a job does differently',
                  notes.length
                )}
              </summary>
              <ul>
                {keyed(notes).map(([key, finding]) => (
                  <Item key={key} {...props} finding={finding} />
                ))}
              </ul>
            </details>
          </li>
        )}
        {plan && !error && plan.cells > 0 && (
          <li data-severity="good">
            <Glyph kind="good" label={trans.__('good')} />
            <div>
              {trans._n(
                '%1 cell converts without a problem.',
                '%1 cells convert without a problem.',
                plan.cells
              )}{' '}
              {plan.modules !== null &&
                trans._n(
                  '%1 module found in the environment.',
                  '%1 modules found in the environment.',
                  plan.modules
                )}
            </div>
          </li>
        )}
      </ul>
    </section>
  );
}

function sentence(props: IFindingsProps, found: readonly Finding[]): string {
  const { plan, error, faults, trans } = props;
  const count = (severity: string): number =>
    found.filter(f => f.severity === severity).length;
  const warnings = count('warning');
  const words = props.words ?? wordsOfJob(trans);
  if (error && !error.body.details.field) {
    return words.refused;
  }
  const problems =
    faults.length +
    (props.own?.length ?? 0) +
    count('problem') +
    (error ? 1 : 0);
  if (problems) {
    const stop = words.stopped(problems);
    return warnings
      ? trans._n('%2, %1 warning', '%2, %1 warnings', warnings, stop)
      : stop;
  }
  if (props.lacks) {
    return props.lacks;
  }
  if (warnings) {
    return words.warned(warnings);
  }
  return plan ? words.ready : trans.__('Checking…');
}

function Item(props: IFindingsProps & { finding: Finding }): JSX.Element {
  const { finding, trans } = props;
  const field = FIELDS[finding.field ?? ''];
  return (
    <li data-severity={finding.severity}>
      <Glyph
        kind={GLYPHS[finding.severity]}
        label={severityWord(finding.severity, trans)}
      />
      <div>
        <b>{finding.message}</b>
        {finding.fix && <p>{finding.fix}</p>}
        {finding.diff && (
          <details>
            <summary>{trans.__('Show the change')}</summary>
            <pre>{finding.diff}</pre>
          </details>
        )}
      </div>
      {(finding.cell || field) && (
        <button
          type="button"
          className="jp-DtrainUi-link"
          onClick={() => props.open(finding)}
        >
          {finding.cell
            ? trans.__('cell %1, line %2', finding.cell, finding.line ?? 1)
            : labelOf(field, trans)}
        </button>
      )}
    </li>
  );
}
