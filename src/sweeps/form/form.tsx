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
import {
  goToPreview,
  Highlight,
  PreviewState
} from '../../job/preview/preview';
import { IJobs, ISite, ISweeps, SweepPlan } from '../../tokens';
import { useBeginning } from './beginSweep';
import { problemsOfSweep, useSweepPlan } from './checkSweep';
import { ISweepDrafts, useSaving } from './saveForLater';
import { SweepBar } from './sweepBar';
import { SweepFields } from './sweepFields';
import { placeOf, SweepReport } from './sweepReport';
import { TrialPreview } from './trialPreview';
import {
  emptySweep,
  ISweepFault,
  ISweepForm,
  REQUIRED,
  SweepField,
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

/** Search space and objective, as typed before the page was reloaded, or as saved for later. */
interface ITypedSweep {
  typed: ISweepForm;
  change: (some: Partial<ISweepForm>) => void;
  /** Empties them. */
  empty: () => void;
  /** Required fields that the user has changed, or all of them: these are at fault if they are not filled in. */
  due: readonly SweepField[];
  requireAll: () => void;
}

function useTypedSweep({
  typed,
  spaces,
  notebook
}: ISweepFormProps): ITypedSweep {
  const made = (): ISweepForm => emptySweep(objectivesIn(notebook.sources));
  const [sweep, setSweep] = useState<ISweepForm>(made);
  const [due, setDue] = useState<readonly SweepField[]>([]);
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
  const set = (some: Partial<ISweepForm>): void =>
    setSweep(before => {
      const after = { ...before, ...some };
      typed.save('sweep', after);
      return after;
    });
  return {
    typed: sweep,
    change: some => {
      setDue(before => REQUIRED.filter(f => f in some || before.includes(f)));
      set(some);
    },
    empty: () => {
      setDue([]);
      set(made());
    },
    due,
    requireAll: () => setDue(REQUIRED)
  };
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
  const { typed, due, ...typing } = useTypedSweep(props);
  const form = filled?.form ?? null;
  const defaults = filled?.defaults ?? '';
  const sweep = useMemo(
    () => withoutRemoved(typed, defaults),
    [typed, defaults]
  );
  const faults = useFaults(form, defaults, trans);
  const ask = useSweepPlan(sweeps, sweep, notebook);
  const check = useCheck({ ...props, filled, faults, ask });
  const { checked, unsaved, lastPlan, again, refuse, renew } = check;
  const [whole, setWhole] = useState<HTMLDivElement | null>(null);
  const oneColumn = useOneColumn(whole);
  const parameters = linesOf(defaults);
  const fields = { sweep, due, parameters, faults };
  const problems = problemsOfSweep(fields, checked, trans);
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
    tried: typing.requireAll,
    // the button responds: it focuses what keeps it disabled
    hindered: () =>
      focus(
        own.length ? placeOf(own[0]) : `[aria-invalid="true"], ${FINDING_LINKS}`
      ),
    refuse,
    renew,
    forget
  });
  if (!form) {
    return <Reading trans={trans} />;
  }
  const startOver = async (): Promise<void> => {
    if (discard && (await props.confirmDiscard())) {
      await forget();
      await discard();
      typing.empty();
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
          unsaved={unsaved}
          focus={focus}
          preview={lastPlan && oneColumn ? () => goToPreview(whole) : null}
          trans={trans}
        />
      }
      preview={
        <TrialPreview
          plan={lastPlan}
          state={stateOf(checked.plan, own, faults)}
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
        changeSweep={typing.change}
        faults={faults}
        problems={problems}
        checked={checked}
        trans={trans}
      />
    </FormFrame>
  );
}

/** What the preview of a trial is of: its script has neither the objective nor the number of trials. */
function stateOf(
  plan: SweepPlan | null,
  own: readonly ISweepFault[],
  faults: readonly IFault[]
): PreviewState {
  if (!plan) {
    return 'earlier';
  }
  return faults.length || own.some(fault => fault.parameter)
    ? 'partial'
    : 'current';
}

/** The typed size: another profile's default is for jobs, and trials have their own. */
function sizeOf(form: IForm): Partial<IForm> {
  return { nodes: form.nodes, ranksPerNode: form.ranksPerNode };
}
