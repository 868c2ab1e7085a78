import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { JobPlan, Profile } from '../../tokens';
import { ChoiceRow, IPart, Line, LineRow } from './controls';
import { labelOf } from './labels';
import { emptyForm, IForm } from '../model/formRequest';
import { Row, Stepper } from './fieldRow';

/** Where the job runs, its size and its time limit. */
export function Where(
  props: IPart & {
    profiles: readonly Profile[];
    slurm: boolean;
    /** The server's latest plan, or null. */
    plan: JobPlan | null;
  }
): JSX.Element {
  const { form, change, profiles, slurm, plan, trans } = props;
  return (
    <>
      <h2>{trans.__('Where')}</h2>
      <ChoiceRow
        {...props}
        name="profile"
        choose={value => {
          const next = profiles.find(p => p.name === value);
          const usual = emptyForm(next, form.parameters);
          change({
            profile: value,
            partition: '',
            nodes: usual.nodes,
            ranksPerNode: usual.ranksPerNode,
            time: usual.time,
            launcher: '',
            framework: '',
            environment: '',
            network: '',
            options: ''
          });
        }}
      >
        {profiles.map(p => (
          <option key={p.name} value={p.name} disabled={!!p.error}>
            {p.name} {p.backend && p.backend !== p.name ? `(${p.backend})` : ''}
          </option>
        ))}
      </ChoiceRow>
      {slurm && (
        <ChoiceRow {...props} name="partition">
          <Partitions plan={plan} form={form} trans={trans} />
        </ChoiceRow>
      )}
      <Size {...props} />
      {slurm && (
        <LineRow {...props} name="time" given={{ placeholder: '02:00:00' }} />
      )}
      {slurm && (
        <ChoiceRow {...props} name="launcher">
          <option value="">{trans.__('as the profile says')}</option>
          <option value="srun">srun</option>
          <option value="torchrun">torchrun</option>
        </ChoiceRow>
      )}
      <LineRow
        {...props}
        name="after"
        given={{ placeholder: trans.__('id or name of a job') }}
      />
    </>
  );
}

function Size(props: IPart & { plan: JobPlan | null }): JSX.Element {
  const { form, change, problems, plan, trans } = props;
  const usual = plan?.size ? String(plan.size.ranks_per_node) : '';
  const usualNodes = plan?.size ? String(plan.size.nodes) : '';
  // before the first check, and while nothing can be checked
  const unknown = trans.__('auto');
  const nodes = Number(form.nodes || usualNodes);
  const each = Number(form.ranksPerNode || usual);
  const both = [problems.nodes, problems.ranksPerNode].filter(
    p => p !== undefined
  );
  const problem = both.length
    ? { ...both[0], text: both.map(p => p.text).join('\n') }
    : undefined;
  return (
    <Row
      label={trans.__('Nodes × ranks')}
      problem={problem}
      group
      trans={trans}
    >
      {aria => (
        <div className="jp-DtrainJob-sizes">
          <Stepper
            label={labelOf('nodes', trans)}
            value={form.nodes || usualNodes}
            change={value => change({ nodes: value })}
            trans={trans}
          >
            {given => (
              <Line
                {...props}
                name="nodes"
                given={{
                  ...given,
                  placeholder: usualNodes || unknown,
                  'aria-describedby': problems.nodes
                    ? aria['aria-describedby']
                    : undefined
                }}
              />
            )}
          </Stepper>
          <span aria-hidden="true">×</span>
          <Stepper
            label={labelOf('ranksPerNode', trans)}
            value={form.ranksPerNode || usual}
            change={value => change({ ranksPerNode: value })}
            trans={trans}
          >
            {given => (
              <Line
                {...props}
                name="ranksPerNode"
                given={{
                  ...given,
                  placeholder: usual || unknown,
                  'aria-describedby': problems.ranksPerNode
                    ? aria['aria-describedby']
                    : undefined
                }}
              />
            )}
          </Stepper>
          {!problem && nodes > 0 && each > 0 && (
            <b>{trans._n('= %1 rank', '= %1 ranks', nodes * each)}</b>
          )}
        </div>
      )}
    </Row>
  );
}

function Partitions(props: {
  plan: JobPlan | null;
  form: IForm;
  trans: TranslationBundle;
}): JSX.Element {
  const { plan, form, trans } = props;
  const partitions = plan?.partitions ?? [];
  const missing =
    form.partition && !partitions.some(p => p.name === form.partition);
  return (
    <>
      <option value="">{trans.__('as the profile says')}</option>
      {missing && <option value={form.partition}>{form.partition}</option>}
      {partitions.map(p => (
        <option key={p.name} value={p.name}>
          {partitionText(p, trans)}
        </option>
      ))}
    </>
  );
}

/** "gpu: 4 nodes × 8 GPUs, 2 days". */
function partitionText(
  { name, nodes, gpus, time }: NonNullable<JobPlan['partitions']>[number],
  trans: TranslationBundle
): string {
  const counted = trans._n('%1 node', '%1 nodes', nodes);
  const size = gpus
    ? trans._n('%2 × %1 GPU', '%2 × %1 GPUs', gpus, counted)
    : counted;
  return time
    ? trans.__('%1: %2, %3', name, size, time)
    : trans.__('%1: %2', name, size);
}
