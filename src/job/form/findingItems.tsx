import { TranslationBundle } from '@jupyterlab/translation';
import React, { ReactNode } from 'react';

import { Finding } from '../../tokens';
import { Glyph } from '../../ui/icons/glyph';
import { uniqueKeys } from '../../ui/lists/uniqueKeys';
import { GlyphKind } from '../../verdicts/glyphKind';
import { labelOf } from '../fields/labels';
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
export function keyed(findings: readonly Finding[]): [string, Finding][] {
  const keys = uniqueKeys(
    findings.map(({ code, cell, line, field, parameter, message }) =>
      [code, cell, line, field, parameter, message].join(' ')
    )
  );
  return findings.map((finding, index) => [keys[index], finding]);
}

/** A finding of the server, with its fix and a link to its place. */
export function FindingItem(props: {
  finding: Finding;
  open: (finding: Finding) => void;
  trans: TranslationBundle;
}): JSX.Element {
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

/** A problem that the form has found itself, or that the server refuses. */
export function ProblemItem(props: {
  text: string;
  hint?: string;
  /** The button beside it: a link to its field, or what solves it. */
  action: { label: ReactNode; act: () => void } | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { text, hint, action, trans } = props;
  return (
    <li data-severity="problem">
      <Glyph kind="failed" label={trans.__('problem')} />
      <div>
        <b>{text}</b>
        {hint !== undefined && <p>{hint}</p>}
      </div>
      {action && (
        <button type="button" className="jp-DtrainUi-link" onClick={action.act}>
          {action.label}
        </button>
      )}
    </li>
  );
}
