import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { questionsOf, signIn } from '../../cluster/dialogs/signin';
import { RequestError } from '../../request/rest';
import { Finding, JobPlan } from '../../tokens';
import { formatClock } from '../../metrics/format';
import { Glyph } from '../../ui/icons/glyph';
import { uniqueKeys } from '../../ui/lists/uniqueKeys';
import { faultSentence, IFault } from '../fields/fieldErrors';
import { labelOf } from '../fields/labels';
import { FIELDS } from '../model/formRequest';
import { alsoOf } from '../model/refusal';
import { FindingItem, keyed, ProblemItem } from './findingItems';
import { IFindingsTexts, wordsOfJob } from './findingsTexts';

/** A problem of a form that has additional fields. */
export interface IOwnProblem {
  text: string;
  /** Label of the field that it links to. */
  label: string;
  open: () => void;
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
  /** Save the notebook, which has changes that its file lacks, and check it; null if it has none. */
  save: (() => Promise<unknown>) | null;
  /** Scroll to the preview, if it is below the form; null if there is none yet. */
  preview: (() => void) | null;
}

/** Result of the check: one sentence, then each finding with its fix and place. */
export function CheckFindings(props: IFindingsProps): JSX.Element {
  const { plan, error, faults, trans } = props;
  const findings = error ? alsoOf(error) : (plan?.findings ?? []);
  const notes = findings.filter(f => f.severity === 'note');
  const own = props.own ?? [];
  const ownKeys = uniqueKeys(own.map(({ label, text }) => `${label} ${text}`));
  const faultKeys = uniqueKeys(
    faults.map(fault => `${fault.field} ${fault.parameter ?? ''}`)
  );
  return (
    <section className="jp-DtrainJob-check" aria-label={trans.__('Check')}>
      <ReportHead {...props} found={findings} />
      <ul className="jp-DtrainJob-findings" aria-busy={props.busy}>
        {props.save && <Unsaved {...props} save={props.save} />}
        {own.map(({ text, label, open }, index) => (
          <ProblemItem
            key={ownKeys[index]}
            text={text}
            action={{ label, act: open }}
            trans={trans}
          />
        ))}
        {faults.map((fault, index) => (
          <ProblemItem
            key={faultKeys[index]}
            text={faultSentence(fault, trans)}
            action={{
              label: labelOf(fault.field, trans),
              act: () => props.openFault(fault)
            }}
            trans={trans}
          />
        ))}
        {error && <Refusal {...props} error={error} />}
        {keyed(findings.filter(f => f.severity !== 'note')).map(
          ([key, finding]) => (
            <FindingItem key={key} {...props} finding={finding} />
          )
        )}
        {notes.length > 0 && <Notes {...props} notes={notes} />}
        {plan && !error && !props.save && plan.cells > 0 && (
          <Converted plan={plan} trans={trans} />
        )}
      </ul>
    </section>
  );
}

/** The sentence of a report, when it was checked, and what can be done there. */
function ReportHead(
  props: IFindingsProps & { found: readonly Finding[] }
): JSX.Element {
  const { trans } = props;
  return (
    <div className="jp-DtrainJob-reportHead">
      <h2>
        <span role="status">{sentence(props, props.found)}</span>
      </h2>
      <div className="jp-DtrainJob-reportSide">
        <When {...props} />
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
  );
}

/** When the form was checked; while its check goes on, what is shown is that of the previous form. */
function When(props: IFindingsProps): JSX.Element | null {
  const { plan, error, faults, own, at, busy, trans } = props;
  if (busy) {
    return plan || error ? (
      <span className="jp-DtrainUi-under">{trans.__('Checking…')}</span>
    ) : null; // the sentence says so
  }
  return at && !faults.length && !own?.length ? (
    <span className="jp-DtrainUi-under">
      {trans.__('Checked at %1; nothing was run.', formatClock(at, true))}
    </span>
  ) : null;
}

/** Why the server refuses the request, with a link to its field; if somebody has to sign in, a button for that. */
function Refusal(props: IFindingsProps & { error: RequestError }): JSX.Element {
  const { error, again, openFault, trans } = props;
  const asked = questionsOf(error);
  const named = error.body.details.field;
  const field = typeof named === 'string' ? FIELDS[named] : undefined;
  return (
    <ProblemItem
      text={error.body.message}
      hint={error.body.hint}
      action={
        asked
          ? {
              label: trans.__('Sign in…'),
              act: () =>
                void reportErrors(trans, async () => {
                  await signIn(asked, trans);
                  again();
                })
            }
          : field
            ? {
                label: labelOf(field, trans),
                act: () => openFault({ field, text: error.message })
              }
            : null
      }
      trans={trans}
    />
  );
}

/** That the check is of the file, which lacks changes of the notebook; with a link that saves them. */
function Unsaved(
  props: IFindingsProps & { save: () => Promise<unknown> }
): JSX.Element {
  const { save, trans } = props;
  return (
    <li data-severity="note">
      <Glyph kind="todo" label={trans.__('note')} />
      <div>{(props.words ?? wordsOfJob(trans)).unsaved}</div>
      <button
        type="button"
        className="jp-DtrainUi-link"
        onClick={() =>
          void reportErrors(trans, async () => {
            await save();
          })
        }
      >
        {trans.__('Save and check')}
      </button>
    </li>
  );
}

/** What a job does differently, folded. */
function Notes(
  props: IFindingsProps & { notes: readonly Finding[] }
): JSX.Element {
  const { notes, trans } = props;
  return (
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
            <FindingItem key={key} {...props} finding={finding} />
          ))}
        </ul>
      </details>
    </li>
  );
}

/** What is all right: cells that convert, and modules that are there. */
function Converted(props: {
  plan: JobPlan;
  trans: TranslationBundle;
}): JSX.Element {
  const { plan, trans } = props;
  return (
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
  if (props.save && (plan || !props.busy)) {
    return trans.__('The notebook has unsaved changes');
  }
  if (warnings) {
    return words.warned(warnings);
  }
  return plan ? words.ready : trans.__('Checking…');
}
