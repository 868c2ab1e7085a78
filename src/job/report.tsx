import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { questionsOf } from '../cluster/signin';
import { RequestError } from '../request/rest';
import { Finding, JobPlan } from '../tokens';
import { Glyph, GlyphKind } from '../ui/glyph';

const GLYPHS: Record<Finding['severity'], GlyphKind> = {
  problem: 'failed',
  warning: 'slow',
  note: 'todo'
};

/** What the check found: one sentence, then each finding with its fix and place. */
export function Report(props: {
  plan: JobPlan | null;
  error: Error | null;
  busy: boolean;
  /** When it was checked. */
  at?: Date;
  trans: TranslationBundle;
  open: (finding: Finding) => void;
  again: () => void;
  /** Answer what a host asks. */
  signIn: () => void;
}): JSX.Element {
  const { plan, error, trans } = props;
  const found = plan?.findings ?? [];
  const count = (severity: string): number =>
    found.filter(f => f.severity === severity).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const sentence = error
    ? trans.__("This can't be submitted.")
    : problems
      ? trans._n(
          '%1 problem stops this job',
          '%1 problems stop this job',
          problems
        ) +
        (warnings ? trans._n(', %1 warning', ', %1 warnings', warnings) : '')
      : warnings
        ? trans._n(
            'Ready, with %1 warning',
            'Ready, with %1 warnings',
            warnings
          )
        : plan
          ? trans.__('Ready to submit')
          : trans.__('Being checked …');
  return (
    <section aria-label={trans.__('Check')}>
      <div className="jp-Dtrain-reportHead">
        <h2>
          <span role="status">{sentence}</span>
        </h2>
        {props.at && !props.busy && (
          <span className="jp-Dtrain-under">
            {trans.__(
              'Checked at %1; nothing was run.',
              props.at.toLocaleTimeString()
            )}
          </span>
        )}
        <button type="button" className="jp-Dtrain-link" onClick={props.again}>
          {props.busy ? trans.__('Checking …') : trans.__('Check again')}
        </button>
      </div>
      <ul className="jp-Dtrain-findings">
        {error && (
          <li data-severity="problem">
            <Glyph kind="failed" label={trans.__('problem')} />
            <div>
              <b>
                {error instanceof RequestError
                  ? error.body.message
                  : error.message}
              </b>
              {error instanceof RequestError && <p>{error.body.hint}</p>}
            </div>
            {questionsOf(error) && (
              <button
                type="button"
                className="jp-Dtrain-link"
                onClick={props.signIn}
              >
                {trans.__('Sign in …')}
              </button>
            )}
          </li>
        )}
        {found.map((finding, index) => (
          <li key={index} data-severity={finding.severity}>
            <Glyph kind={GLYPHS[finding.severity]} label={finding.severity} />
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
            {(finding.cell || finding.field) && (
              <button
                type="button"
                className="jp-Dtrain-link"
                onClick={() => props.open(finding)}
              >
                {finding.cell
                  ? trans.__(
                      'cell %1, line %2',
                      finding.cell,
                      finding.line ?? 1
                    )
                  : trans.__('Show the field')}
              </button>
            )}
          </li>
        ))}
        {plan && plan.cells > 0 && (
          <li data-severity="good">
            <Glyph kind="good" label={trans.__('good')} />
            <div>
              {trans._n('%1 cell converts.', '%1 cells convert.', plan.cells)}{' '}
              {plan.modules === null
                ? ''
                : trans._n(
                    '%1 imported module is in the environment.',
                    '%1 imported modules are in the environment.',
                    plan.modules
                  )}
            </div>
          </li>
        )}
      </ul>
    </section>
  );
}
