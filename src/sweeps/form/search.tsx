import React, { useId } from 'react';

import { Row } from '../../job/fields/fieldRow';
import { ISweepFault, SweepField, trialsOf } from '../model/formRequest';
import { IPartOfSweep } from './searchSpaceFields';
import { combinations } from '../model/searchSpace';
import { faultText } from '../model/texts';

/** Objective, search method, and number of trials. */
export function Search(
  props: IPartOfSweep & { objectives: readonly string[] }
): JSX.Element {
  const { form, change, objectives, trans } = props;
  const list = useId();
  const problem = (field: SweepField): { text: string } | undefined => {
    const own = props.faults.find((f: ISweepFault) => f.field === field);
    const refused = props.refused.find(r => r.field === field)?.text;
    const text = own ? faultText(own, trans) : refused;
    return text ? { text } : undefined;
  };
  const all = combinations(form.vary);
  return (
    <>
      <h2>{trans.__('Search')}</h2>
      <Row
        label={trans.__('Objective')}
        problem={problem('objective')}
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
              aria-invalid={!!problem('objective')}
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
      <Row
        label={trans.__('Sampler')}
        problem={problem('sampler')}
        trans={trans}
      >
        {aria => (
          <select
            {...aria}
            className="jp-mod-styled"
            data-sweep="sampler"
            aria-invalid={!!problem('sampler')}
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
      <Row
        label={trans.__('Trials')}
        problem={problem('trials')}
        help={
          all !== null && all > 1
            ? trans.__('There are %1 combinations.', all.toLocaleString())
            : undefined
        }
        trans={trans}
      >
        {aria => (
          <input
            {...aria}
            className="jp-mod-styled"
            data-sweep="trials"
            inputMode="numeric"
            aria-invalid={!!problem('trials')}
            placeholder={
              form.sampler === 'grid'
                ? trans.__('all combinations')
                : String(trialsOf({ ...form, trials: '' }))
            }
            value={form.trials}
            onChange={event => change({ trials: event.target.value })}
          />
        )}
      </Row>
      <Row
        label={trans.__('At once')}
        problem={problem('parallel')}
        trans={trans}
      >
        {aria => (
          <input
            {...aria}
            className="jp-mod-styled"
            data-sweep="parallel"
            inputMode="numeric"
            aria-invalid={!!problem('parallel')}
            placeholder={trans.__('as many as fit')}
            value={form.parallel}
            onChange={event => change({ parallel: event.target.value })}
          />
        )}
      </Row>
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
