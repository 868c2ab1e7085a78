import { TranslationBundle } from '@jupyterlab/translation';
import React, { useId } from 'react';

import { Glyph } from '../../ui/icons/glyph';

/** The problem of a field, and how to fix it. `title`: summary. */
export interface IProblem {
  text: string;
  /** The parameters at fault, if the field has many. */
  parameters?: readonly string[];
  title?: string;
  value?: string;
}

/** Attributes that connect a control to its label and its problem. */
export interface IAria {
  id: string;
  'aria-describedby'?: string;
}

/** A field with its label, its problem and its fix. */
export function Row(props: {
  label: string;
  problem?: IProblem;
  /** Called with the value that fixes it. */
  mend?: (value: string) => void;
  help?: React.ReactNode;
  /** Whether there are several controls, each with its own name. */
  group?: boolean;
  trans: TranslationBundle;
  children: (aria: IAria) => React.ReactNode;
}): JSX.Element {
  const { problem, mend, trans } = props;
  const id = useId();
  const described = problem ? `${id}-problem` : undefined;
  return (
    <div
      className="jp-DtrainJob-field"
      role={props.group ? 'group' : undefined}
      aria-labelledby={props.group ? `${id}-label` : undefined}
    >
      {props.group ? (
        <span id={`${id}-label`}>{props.label}</span>
      ) : (
        <label htmlFor={id}>{props.label}</label>
      )}
      <div>
        {props.children({ id, 'aria-describedby': described })}
        {problem && (
          <p className="jp-DtrainJob-fieldError" id={described}>
            <Glyph kind="failed" label={trans.__('Problem')} />
            <span>
              {problem.title && <b>{problem.title} </b>}
              {problem.text}{' '}
              {problem.value && mend && (
                <button
                  type="button"
                  className="jp-DtrainUi-link"
                  onClick={() => mend(problem.value ?? '')}
                >
                  {trans.__('Set %1', problem.value)}
                </button>
              )}
            </span>
          </p>
        )}
        {props.help && <p className="jp-DtrainUi-under">{props.help}</p>}
      </div>
    </div>
  );
}

/** A number with buttons to decrease and increase it. */
export function Stepper(props: {
  label: string;
  value: string;
  change: (value: string) => void;
  trans: TranslationBundle;
  children: (
    given: Partial<React.InputHTMLAttributes<HTMLInputElement>>
  ) => JSX.Element;
}): JSX.Element {
  const { label, value, change, trans } = props;
  const by = (step: number): void =>
    change(String(Math.max(1, (Number(value) || 0) + step)));
  return (
    <span className="jp-DtrainJob-stepper">
      <button
        type="button"
        aria-label={trans.__('%1: one fewer', label)}
        disabled={Number(value) <= 1}
        onClick={() => by(-1)}
      >
        −
      </button>
      {props.children({ 'aria-label': label, inputMode: 'numeric' })}
      <button
        type="button"
        aria-label={trans.__('%1: one more', label)}
        onClick={() => by(1)}
      >
        +
      </button>
    </span>
  );
}
