import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useMemo, useState } from 'react';

import { linesOf } from '../../job/model/assignments';
import { useCheck } from '../../job/form/checkForm';
import { useOneColumn } from '../../job/form/columns';
import { IDrafts, ITyped } from '../../job/form/drafts';
import { faultsOf } from '../../job/fields/fieldErrors';
import { useForm } from '../../job/form/initialForm';
import { FormFrame, Reading } from '../../job/form/formFrame';
import { INotebook } from '../../job/form/notebook';
import { FINDING_LINKS } from '../../job/form/findings';
import { IForm } from '../../job/model/formRequest';
import { IJobs, ISite, ISweeps } from '../../tokens';
import { useBeginning } from './beginSweep';
import { problemsOfSweep, useSweepPlan } from './checkSweep';
import { SweepBar } from './sweepBar';
import { SweepFields } from './sweepFields';
import { placeOf, SweepReport } from './sweepReport';
import {
  emptySweep,
  ISweepForm,
  withoutRemoved,
  UNSIZED
} from '../model/formRequest';
import { objectivesIn } from '../model/objectives';

export interface ISweepFormProps {
  notebook: INotebook;
  drafts: IDrafts;
  typed: ITyped;
  site: ISite;
  jobs: IJobs;
  sweeps: ISweeps;
  commands: CommandRegistry;
  trans: TranslationBundle;
  begun(): void;
}

/** Search space and objective as typed before the page was reloaded, and the function to change them. */
function useTypedSweep(
  typed: ITyped,
  notebook: INotebook
): [ISweepForm, (some: Partial<ISweepForm>) => void] {
  const [sweep, setSweep] = useState<ISweepForm>(() =>
    emptySweep(objectivesIn(notebook.sources))
  );
  useEffect(() => {
    void typed
      .load<ISweepForm>('sweep')
      .then(kept => kept && setSweep(now => ({ ...now, ...kept })));
  }, [typed]);
  return [
    sweep,
    some =>
      setSweep(before => {
        const after = { ...before, ...some };
        typed.save('sweep', after);
        return after;
      })
  ];
}

/** The form of a sweep: where its trials run, search space, objective, and the check of a trial. */
export function SweepForm(props: ISweepFormProps): JSX.Element {
  const { site, sweeps, trans, notebook } = props;
  const { profiles } = site;
  const [filled, fill] = useForm({
    ...props,
    like: null,
    // trials start from the notebook's values, not from those of its last job
    begins: { ...UNSIZED, parameters: notebook.parameters },
    profiles
  });
  const [typed, setSweep] = useTypedSweep(props.typed, notebook);
  const form = filled?.form ?? null;
  const defaults = filled?.defaults ?? '';
  const sweep = useMemo(
    () => withoutRemoved(typed, defaults),
    [typed, defaults]
  );
  const faults = useMemo(
    () => (form ? faultsOf(form, defaults, trans) : []),
    [form, defaults, trans]
  );
  const { checked, again, refuse } = useCheck({
    ...props,
    filled,
    faults,
    ask: useSweepPlan(sweeps, sweep, notebook)
  });
  const [tried, setTried] = useState(false);
  const [whole, setWhole] = useState<HTMLDivElement | null>(null);
  const oneColumn = useOneColumn(whole);
  const parameters = linesOf(defaults);
  const problems = problemsOfSweep(sweep, parameters, faults, checked, trans);
  const { own, why } = problems;
  const focus = (selector: string): void =>
    whole?.querySelector<HTMLElement>(selector)?.focus();
  const [sending, begin] = useBeginning({
    ...props,
    form,
    sweep,
    busy: checked.busy,
    why,
    tried: () => setTried(true),
    // the button responds: it focuses what keeps it disabled
    hindered: () =>
      focus(
        own.length ? placeOf(own[0]) : `[aria-invalid="true"], ${FINDING_LINKS}`
      ),
    refuse
  });

  if (!form) {
    return <Reading trans={trans} />;
  }
  return (
    <FormFrame
      title={trans.__('Sweep %1', notebook.path.split('/').pop())}
      under={trans.__(
        'Runs this notebook as many jobs, its trials, each with its own parameters. They need neither this browser nor the Jupyter server.'
      )}
      oneColumn={oneColumn}
      report={
        <SweepReport
          notebook={notebook}
          checked={checked}
          problems={problems}
          faults={faults}
          again={again}
          focus={focus}
          trans={trans}
        />
      }
      whole={setWhole}
      send={begin}
      bar={
        <SweepBar
          sweep={sweep}
          plan={checked.plan}
          partial={own.length + faults.length > 0}
          why={why}
          sending={sending}
          trans={trans}
          send={begin}
        />
      }
    >
      <SweepFields
        notebook={notebook}
        profiles={profiles}
        parameters={parameters}
        form={form}
        change={part =>
          fill('profile' in part ? { ...part, ...sizeOf(form) } : part)
        }
        sweep={sweep}
        changeSweep={setSweep}
        faults={faults}
        problems={problems}
        checked={checked}
        tried={tried}
        trans={trans}
      />
    </FormFrame>
  );
}

/** The typed size: another profile's default is for jobs, and trials have their own. */
function sizeOf(form: IForm): Partial<IForm> {
  return { nodes: form.nodes, ranksPerNode: form.ranksPerNode };
}
