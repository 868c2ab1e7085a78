import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useEffect, useMemo, useState } from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { linesOf } from '../../job/model/assignments';
import { useCheck } from '../../job/form/checkForm';
import { useOneColumn } from '../../job/form/columns';
import { ITyped } from '../../job/form/drafts';
import { faultsOf, IFault } from '../../job/fields/fieldErrors';
import { useForm } from '../../job/form/initialForm';
import { FormFrame, Reading, Source } from '../../job/form/formFrame';
import { INotebook } from '../../job/form/notebook';
import { FINDING_LINKS } from '../../job/form/findings';
import { IForm } from '../../job/model/formRequest';
import { goToPreview, Highlight } from '../../job/preview/preview';
import { IJobs, ISite, ISweeps } from '../../tokens';
import { useBeginning } from './beginSweep';
import { problemsOfSweep, useSweepPlan } from './checkSweep';
import { ISweepDrafts, useSaving } from './saveForLater';
import { SweepBar } from './sweepBar';
import { SweepFields } from './sweepFields';
import { placeOf, SweepReport } from './sweepReport';
import { TrialPreview } from './trialPreview';
import {
  emptySweep,
  ISweepForm,
  withoutRemoved,
  UNSIZED
} from '../model/formRequest';
import { objectivesIn } from '../model/objectives';

export interface ISweepFormProps extends ISweepDrafts {
  notebook: INotebook;
  typed: ITyped;
  highlight: Highlight;
  site: ISite;
  jobs: IJobs;
  sweeps: ISweeps;
  commands: CommandRegistry;
  trans: TranslationBundle;
  confirmDiscard(): Promise<boolean>;
  begun(): void;
}

/**
 * Search space and objective as typed before the page was reloaded, or as saved for later; the function to change them,
 * and the function to empty them.
 */
function useTypedSweep({
  typed,
  spaces,
  notebook
}: ISweepFormProps): [
  ISweepForm,
  (some: Partial<ISweepForm>) => void,
  () => void
] {
  const empty = (): ISweepForm => emptySweep(objectivesIn(notebook.sources));
  const [sweep, setSweep] = useState<ISweepForm>(empty);
  const { path } = notebook;
  useEffect(() => {
    const load = async (): Promise<void> => {
      const kept =
        (await typed.load<ISweepForm>('sweep')) ??
        (await spaces.load(path, null));
      if (kept) {
        setSweep(now => ({ ...now, ...kept }));
      }
    };
    void load();
  }, [typed, spaces, path]);
  const change = (some: Partial<ISweepForm>): void =>
    setSweep(before => {
      const after = { ...before, ...some };
      typed.save('sweep', after);
      return after;
    });
  return [sweep, change, () => change(empty())];
}

/** Errors of the fields that a job has, too. */
function useFaults(
  form: IForm | null,
  defaults: string,
  trans: TranslationBundle
): readonly IFault[] {
  return useMemo(
    () => (form ? faultsOf(form, defaults, trans) : []),
    [form, defaults, trans]
  );
}

/** What the form is for; or that it is filled in as it was saved for later, with a link that discards this. */
function SweepSource(props: {
  from: string;
  discard: (() => Promise<void>) | null;
  trans: TranslationBundle;
}): JSX.Element {
  const { from, discard, trans } = props;
  return (
    <Source
      from={discard ? from : ''}
      usual={trans.__(
        'Runs this notebook as many jobs, its trials, each with its own parameters. They need neither this browser nor the Jupyter server.'
      )}
      discard={discard}
      trans={trans}
    />
  );
}

/** The form of a sweep: where its trials run, search space, objective, and the check of a trial. */
export function SweepForm(props: ISweepFormProps): JSX.Element {
  const { site, sweeps, trans, notebook } = props;
  const { profiles } = site;
  const [filled, fill, from, discard] = useForm({
    ...props,
    like: null,
    // trials start from the notebook's values, not from those of its last job
    begins: { ...UNSIZED, parameters: notebook.parameters },
    profiles
  });
  const [typed, setSweep, emptySpace] = useTypedSweep(props);
  const form = filled?.form ?? null;
  const defaults = filled?.defaults ?? '';
  const sweep = useMemo(
    () => withoutRemoved(typed, defaults),
    [typed, defaults]
  );
  const faults = useFaults(form, defaults, trans);
  const { checked, lastPlan, again, refuse } = useCheck({
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
  const { saved, keep, forget } = useSaving(props, notebook.path, form, typed);
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
    refuse,
    forget
  });
  if (!form) {
    return <Reading trans={trans} />;
  }
  const startOver = async (): Promise<void> => {
    if (discard && (await props.confirmDiscard())) {
      await forget();
      await discard();
      emptySpace();
      focus('.jp-DtrainJob-submitForm [data-sweep]'); // the link is gone
    }
  };
  return (
    <FormFrame
      title={trans.__('Sweep %1', notebook.path.split('/').pop())}
      under={
        <SweepSource from={from} discard={discard && startOver} trans={trans} />
      }
      oneColumn={oneColumn}
      report={
        <SweepReport
          notebook={notebook}
          checked={checked}
          problems={problems}
          faults={faults}
          again={again}
          focus={focus}
          preview={lastPlan && oneColumn ? () => goToPreview(whole) : null}
          trans={trans}
        />
      }
      preview={
        <TrialPreview
          plan={lastPlan}
          stale={own.length + faults.length > 0 || !checked.plan}
          highlight={props.highlight}
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
          saved={saved}
          save={() => void reportErrors(trans, keep)}
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
