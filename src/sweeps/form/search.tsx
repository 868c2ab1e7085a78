import React, { useId } from 'react';

import { Row } from '../../job/fields/fieldRow';
import { SweepField, trialsOf, varies } from '../model/formRequest';
import { IPartOfSweep } from './searchSpaceFields';
import { combinations } from '../model/searchSpace';
import { faultText, fieldText } from '../model/texts';

/** What is wrong with a field; undefined for nothing. */
function problemOf(
  props: IPartOfSweep,
  field: SweepField
): { text: string } | undefined {
  const own = props.faults.find(fault => fault.field === field);
  const text = own
    ? faultText(own, props.trans)
    : props.refused.find(r => r.field === field)?.text;
  return text ? { text } : undefined;
}

/** Objective, search method, and number of trials. */
export function Search(
  props: IPartOfSweep & { objectives: readonly string[] }
): JSX.Element {
  const { form, change, trans } = props;
  const all = combinations(form.vary);
  const usual = String(trialsOf({ ...form, trials: '' }));
  return (
    <>
      <h2>{trans.__('Search')}</h2>
      <Objective {...props} />
      <Sampler {...props} />
      <CountRow
        {...props}
        name="trials"
        help={
          all !== null && all > 1
            ? trans._n(
                'There is %2 combination.',
                'There are %2 combinations.',
                all,
                all.toLocaleString()
              )
            : undefined
        }
        placeholder={
          form.sampler === 'grid'
            ? trans.__('all combinations')
            : varies(form)
              ? usual
              : ''
        }
      />
      <CountRow
        {...props}
        name="parallel"
        placeholder={trans.__('as many as fit')}
      />
      <label className="jp-DtrainSweep-early">
        <input
          type="checkbox"
          checked={form.asha}
          onChange={event => change({ asha: event.target.checked })}
        />
        <span>
          {trans.__('Stop bad trials early')}
          <span className="jp-DtrainUi-under">
            {trans.__(
              'ASHA stops the trials outside the best third after 1/27, 1/9 and 1/3 of the steps. Their checkpoints are kept.'
            )}
          </span>
        </span>
      </label>
    </>
  );
}

/** The value that is optimized, and in which direction. */
function Objective(
  props: IPartOfSweep & { objectives: readonly string[] }
): JSX.Element {
  const { form, change, objectives, trans } = props;
  const list = useId();
  const problem = problemOf(props, 'objective');
  return (
    <Row
      label={trans.__('Objective')}
      problem={problem}
      help={
        objectives.length
          ? trans.__('A value that the notebook passes to dt.log.')
          : trans.__(
              'No call of dt.log(step, name=value) was found in the notebook.'
            )
      }
      group
      trans={trans}
    >
      {aria => (
        <div className="jp-DtrainSweep-pair">
          <select
            className="jp-mod-styled"
            aria-label={trans.__('Direction')}
            value={form.direction}
            onChange={event =>
              change({
                direction: event.target.value as typeof form.direction
              })
            }
          >
            <option value="minimize">{trans.__('minimize')}</option>
            <option value="maximize">{trans.__('maximize')}</option>
          </select>
          <input
            className="jp-mod-styled"
            aria-label={trans.__('Name of the objective')}
            aria-describedby={aria['aria-describedby']}
            aria-invalid={!!problem}
            data-sweep="objective"
            list={list}
            spellCheck={false}
            value={form.objective}
            onChange={event => change({ objective: event.target.value })}
          />
          <datalist id={list}>
            {objectives.map(name => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
      )}
    </Row>
  );
}

/** How values are chosen. */
function Sampler(props: IPartOfSweep): JSX.Element {
  const { form, change, trans } = props;
  const problem = problemOf(props, 'sampler');
  return (
    <Row label={trans.__('Sampler')} problem={problem} trans={trans}>
      {aria => (
        <select
          {...aria}
          className="jp-mod-styled"
          data-sweep="sampler"
          aria-invalid={!!problem}
          value={form.sampler}
          onChange={event =>
            change({ sampler: event.target.value as typeof form.sampler })
          }
        >
          <option value="tpe">
            {trans.__('TPE: prefers values that did well')}
          </option>
          <option value="random">{trans.__('Random')}</option>
          <option value="grid">{trans.__('Grid: all combinations')}</option>
        </select>
      )}
    </Row>
  );
}

/** A number, or nothing for the usual one, which is the placeholder. */
function CountRow(
  props: IPartOfSweep & {
    name: 'trials' | 'parallel';
    help?: string;
    placeholder: string;
  }
): JSX.Element {
  const { form, change, name, trans } = props;
  const problem = problemOf(props, name);
  return (
    <Row
      label={fieldText(name, trans)}
      problem={problem}
      help={props.help}
      trans={trans}
    >
      {aria => (
        <input
          {...aria}
          className="jp-mod-styled"
          data-sweep={name}
          inputMode="numeric"
          aria-invalid={!!problem}
          placeholder={props.placeholder}
          value={form[name]}
          onChange={event => change({ [name]: event.target.value })}
        />
      )}
    </Row>
  );
}
