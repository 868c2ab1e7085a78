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
import { ISweepFault, ISweepForm } from '../model/formRequest';
import { around, IVary, VaryKind } from '../model/searchSpace';
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
  const nothing = props.faults.find(
    f => f.field === 'vary' && f.parameter === undefined
  );
  const elsewhere = props.refused.find(
    r => r.field === 'space' && parameters.every(p => p.name !== r.parameter)
  );
  const said = nothing ? faultText(nothing, trans) : elsewhere?.text;
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
      {said && (
        <p className="jp-DtrainSweep-nothing" role="alert">
          {said}
        </p>
      )}
      {parameters.map(parameter => (
        <OneVary
          key={parameter.name}
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

function OneVary(
  props: IPartOfSweep & {
    parameter: IParameter;
    /** The value that all trials have, if it is fixed. */
    value: string;
    fix: (value: string) => void;
    fixedFaults: readonly IFault[];
    first: boolean;
    vary: IVary;
    take: (vary: IVary) => void;
  }
): JSX.Element {
  const { parameter, vary, take, trans } = props;
  const { name } = parameter;
  const own = props.faults.find(f => f.parameter === name);
  const fixedFault =
    vary.kind === 'fixed'
      ? props.fixedFaults.find(f => f.parameter === name)?.text
      : undefined;
  const refused = props.refused.find(r => r.parameter === name)?.text;
  const text = own ? faultText(own, trans) : (fixedFault ?? refused);
  const kinds: [VaryKind, string][] = [
    ['fixed', trans.__('is fixed')],
    ['list', trans.__('one of')],
    ['loguniform', trans.__('logarithmic range')],
    ['uniform', trans.__('range')],
    ['randint', trans.__('whole numbers')]
  ];
  const line = (
    label: string,
    value: string,
    set: (value: string) => void,
    described: string | undefined,
    marked: boolean
  ): JSX.Element => (
    <input
      className="jp-mod-styled"
      aria-label={label}
      aria-invalid={!!text}
      aria-describedby={described}
      data-sweep={marked ? name : undefined}
      spellCheck={false}
      value={value}
      onChange={event => set(event.target.value)}
    />
  );
  return (
    <Row label={name} problem={text ? { text } : undefined} group trans={trans}>
      {aria => {
        const described = aria['aria-describedby'];
        return (
          <div className="jp-DtrainSweep-vary" data-kind={vary.kind}>
            <select
              className="jp-mod-styled"
              aria-label={trans.__('How %1 varies', name)}
              data-sweep={props.first ? 'vary' : undefined}
              value={vary.kind}
              onChange={event => {
                const kind = event.target.value as VaryKind;
                const offered = around(parameter.value, vary.kind);
                const untouched =
                  !vary.low ||
                  (vary.low === offered.low && vary.high === offered.high);
                const fresh =
                  untouched || kind === 'randint' || vary.kind === 'randint'
                    ? around(parameter.value, kind)
                    : vary;
                take({ ...fresh, values: vary.values || fresh.values, kind });
              }}
            >
              {kinds.map(([kind, label]) => (
                <option key={kind} value={kind}>
                  {label}
                </option>
              ))}
            </select>
            {vary.kind === 'fixed' &&
              line(
                trans.__('Value of %1', name),
                props.value,
                props.fix,
                described,
                true
              )}
            {vary.kind === 'list' &&
              line(
                trans.__('Values of %1, with commas', name),
                vary.values,
                values => take({ ...vary, values }),
                described,
                true
              )}
            {vary.kind !== 'fixed' && vary.kind !== 'list' && (
              <span>
                {line(
                  trans.__('%1 from', name),
                  vary.low,
                  low => take({ ...vary, low }),
                  described,
                  true
                )}
                <span aria-hidden="true">–</span>
                {line(
                  trans.__('%1 to', name),
                  vary.high,
                  high => take({ ...vary, high }),
                  described,
                  false
                )}
              </span>
            )}
            {vary.kind !== 'fixed' && (
              <span className="jp-DtrainUi-under">
                {trans.__('the notebook has %1', parameter.value)}
              </span>
            )}
          </div>
        );
      }}
    </Row>
  );
}
