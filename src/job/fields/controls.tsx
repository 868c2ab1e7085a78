import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { labelOf } from './labels';
import { IForm } from '../model/formRequest';
import { IProblem, Row } from './fieldRow';

/** Fields with one line of text. */
export type TextField = Exclude<keyof IForm, 'launcher' | 'files' | 'stage'>;

/** Problems of fields, as text. */
export type Problems = Partial<Record<keyof IForm, IProblem>>;

/** Properties of each part of the form. */
export interface IPart {
  form: IForm;
  change: (part: Partial<IForm>) => void;
  problems: Problems;
  trans: TranslationBundle;
}

type Given = Partial<React.InputHTMLAttributes<HTMLInputElement>>;

/** A line of text. */
export function Line(
  props: IPart & { name: TextField; given?: Given }
): JSX.Element {
  const { form, change, problems, name } = props;
  return (
    <input
      data-field={name}
      className="jp-mod-styled"
      value={form[name]}
      aria-invalid={!!problems[name]}
      onChange={event => change({ [name]: event.target.value })}
      {...props.given}
    />
  );
}

/** A text field with its label and its problem. */
export function LineRow(
  props: IPart & { name: TextField; given?: Given; help?: string }
): JSX.Element {
  const { change, problems, name, trans } = props;
  return (
    <Row
      label={labelOf(name, trans)}
      problem={problems[name]}
      mend={value => change({ [name]: value })}
      help={props.help}
      trans={trans}
    >
      {aria => <Line {...props} given={{ ...aria, ...props.given }} />}
    </Row>
  );
}

/** A choice with its label and its problem. */
export function ChoiceRow(
  props: IPart & {
    name: 'profile' | 'partition' | 'launcher' | 'framework';
    /** Called instead of only setting the field. */
    choose?: (value: string) => void;
    children: React.ReactNode;
  }
): JSX.Element {
  const { form, change, problems, name, trans } = props;
  const choose = props.choose ?? (value => change({ [name]: value }));
  return (
    <Row
      label={labelOf(name, trans)}
      problem={problems[name]}
      mend={choose}
      trans={trans}
    >
      {aria => (
        <select
          {...aria}
          data-field={name}
          className="jp-mod-styled"
          value={form[name]}
          aria-invalid={!!problems[name]}
          onChange={event => choose(event.target.value)}
        >
          {props.children}
        </select>
      )}
    </Row>
  );
}

/** A multi-line text field with its label and its problem. */
export function TextRow(
  props: IPart & { name: 'options' | 'stage'; help: string }
): JSX.Element {
  const { form, change, problems, name, trans } = props;
  return (
    <Row
      label={labelOf(name, trans)}
      problem={problems[name]}
      help={props.help}
      trans={trans}
    >
      {aria => (
        <textarea
          {...aria}
          data-field={name}
          className="jp-mod-styled"
          rows={2}
          spellCheck={false}
          aria-invalid={!!problems[name]}
          value={form[name]}
          onChange={event => change({ [name]: event.target.value })}
        />
      )}
    </Row>
  );
}
