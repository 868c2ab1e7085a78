import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import {
  IParameter,
  linesOf,
  NoAssignment,
  withValue
} from '../../job/model/assignments';
import { IFault } from '../../job/fields/fieldErrors';
import { Row } from '../../job/fields/fieldRow';
import { uniqueKeys } from '../../ui/lists/uniqueKeys';
import { ISweepFault, ISweepForm } from '../model/formRequest';
import {
  around,
  changedKind,
  IVary,
  kindsOf,
  VaryKind
} from '../model/searchSpace';
import { faultText } from '../model/texts';

/** Properties of each part of the form. */
export interface IPartOfSweep {
  form: ISweepForm;
  change: (part: Partial<ISweepForm>) => void;
  faults: readonly ISweepFault[];
  /** Parameters that the server refused. */
  refused: readonly { field: string; parameter: unknown; text: string }[];
  trans: TranslationBundle;
}

/** Each parameter of the tagged cell: fixed, a list, or a range. */
export function Vary(
  props: IPartOfSweep & {
    parameters: readonly IParameter[];
    /** Values of the fixed parameters, as lines. */
    text: string;
    setText: (text: string) => void;
    fixedFaults: readonly IFault[];
  }
): JSX.Element {
  const { parameters, form, change, trans } = props;
  const fixed = new Map(read(props.text).map(p => [p.name, p.value]));
  const keys = uniqueKeys(parameters.map(parameter => parameter.name));
  const nothing = props.faults.find(
    f => f.field === 'vary' && f.parameter === undefined
  );
  const elsewhere = props.refused.find(
    r => r.field === 'space' && parameters.every(p => p.name !== r.parameter)
  );
  const message = nothing ? faultText(nothing, trans) : elsewhere?.text;
  return (
    <>
      <h2>{trans.__('Vary')}</h2>
      {parameters.length === 0 ? (
        <p className="jp-DtrainSweep-none">
          {trans.__(
            'No cell that assigns values is tagged "parameters". Tag one in the property inspector (Cell Tags), and save the notebook.'
          )}
        </p>
      ) : (
        <p className="jp-DtrainUi-under">
          {trans.__('Parameters of the tagged cell, and how trials vary them.')}
        </p>
      )}
      {message && (
        <p className="jp-DtrainSweep-nothing" role="alert">
          {message}
        </p>
      )}
      {parameters.map((parameter, index) => (
        <OneVary
          key={keys[index]}
          {...props}
          parameter={parameter}
          value={fixed.get(parameter.name) ?? parameter.value}
          fix={value =>
            props.setText(withValue(props.text, parameter.name, value))
          }
          first={parameter === parameters[0]}
          vary={form.vary[parameter.name] ?? around(parameter.value)}
          take={vary =>
            change({ vary: { ...form.vary, [parameter.name]: vary } })
          }
        />
      ))}
    </>
  );
}

function read(text: string): IParameter[] {
  try {
    return linesOf(text);
  } catch (error) {
    if (error instanceof NoAssignment) {
      return []; // the check of the form says so
    }
    throw error;
  }
}

/** Properties of the fields of one parameter. */
interface IOneVary extends IPartOfSweep {
  parameter: IParameter;
  /** The value that all trials have, if it is fixed. */
  value: string;
  fix: (value: string) => void;
  fixedFaults: readonly IFault[];
  first: boolean;
  vary: IVary;
  take: (vary: IVary) => void;
}

/** What is wrong with a parameter; undefined for nothing. */
function faultOfParameter(props: IOneVary): string | undefined {
  const { parameter, vary, trans } = props;
  const ofIt = (of: { parameter?: unknown }): boolean =>
    of.parameter === parameter.name;
  const own = props.faults.find(ofIt);
  if (own) {
    return faultText(own, trans);
  }
  const fixedFault =
    vary.kind === 'fixed' ? props.fixedFaults.find(ofIt)?.text : undefined;
  return fixedFault ?? props.refused.find(ofIt)?.text;
}

/** A parameter: how it varies, and its value, list or range. */
function OneVary(props: IOneVary): JSX.Element {
  const { parameter, vary, take, trans } = props;
  const { name } = parameter;
  const text = faultOfParameter(props);
  return (
    <Row
      label={name}
      problem={text ? { text } : undefined}
      help={
        vary.kind === 'fixed'
          ? undefined
          : trans.__('the notebook has %1', parameter.value)
      }
      group
      trans={trans}
    >
      {aria => {
        const field = {
          invalid: !!text,
          described: aria['aria-describedby']
        };
        return (
          <div className="jp-DtrainSweep-vary" data-kind={vary.kind}>
            <KindField {...props} />
            {vary.kind === 'fixed' && (
              <ValueField
                {...field}
                label={trans.__('Value of %1', name)}
                marks={name}
                value={props.value}
                set={props.fix}
              />
            )}
            {vary.kind === 'list' && (
              <ValueField
                {...field}
                label={trans.__('Values of %1, with commas', name)}
                marks={name}
                value={vary.values}
                set={values => take({ ...vary, values })}
              />
            )}
            {vary.kind !== 'fixed' && vary.kind !== 'list' && (
              <span>
                <ValueField
                  {...field}
                  label={trans.__('%1 from', name)}
                  marks={name}
                  value={vary.low}
                  set={low => take({ ...vary, low })}
                />
                <span aria-hidden="true">–</span>
                <ValueField
                  {...field}
                  label={trans.__('%1 to', name)}
                  value={vary.high}
                  set={high => take({ ...vary, high })}
                />
              </span>
            )}
          </div>
        );
      }}
    </Row>
  );
}

/** How a parameter varies: what its type allows, and what was chosen before the notebook changed it. */
function KindField(props: IOneVary): JSX.Element {
  const { parameter, vary, take, trans } = props;
  const words: [VaryKind, string][] = [
    ['fixed', trans.__('is fixed')],
    ['list', trans.__('one of')],
    ['loguniform', trans.__('logarithmic range')],
    ['uniform', trans.__('range')],
    ['randint', trans.__('whole numbers')]
  ];
  const offered = kindsOf(parameter.value);
  return (
    <select
      className="jp-mod-styled"
      aria-label={trans.__('How %1 varies', parameter.name)}
      data-sweep={props.first ? 'vary' : undefined}
      value={vary.kind}
      onChange={event => {
        const kind = event.target.value as VaryKind;
        take(changedKind(vary, kind, parameter.value));
      }}
    >
      {words
        .filter(([kind]) => offered.includes(kind) || kind === vary.kind)
        .map(([kind, label]) => (
          <option key={kind} value={kind}>
            {label}
          </option>
        ))}
    </select>
  );
}

/** A field for a value, a list, or an end of a range. */
function ValueField(props: {
  label: string;
  invalid: boolean;
  /** Id of what describes it. */
  described: string | undefined;
  /** The parameter to which links to its problems lead here; undefined if they lead elsewhere. */
  marks?: string;
  value: string;
  set: (value: string) => void;
}): JSX.Element {
  return (
    <input
      className="jp-mod-styled"
      aria-label={props.label}
      aria-invalid={props.invalid}
      aria-describedby={props.described}
      data-sweep={props.marks}
      spellCheck={false}
      value={props.value}
      onChange={event => props.set(event.target.value)}
    />
  );
}
