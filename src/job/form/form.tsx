import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import React, { useMemo, useState } from 'react';

import { reportErrors } from '../../cluster/dialogs/reportErrors';
import { IJobs, ISite } from '../../tokens';
import { useCheck, useJobPlan } from './checkForm';
import { FINDING_LINKS } from './findings';
import { problemsOfJob, SubmitReport } from './submitReport';
import { SubmitBar } from './submitBar';
import { useOneColumn } from './columns';
import { IDrafts, ITyped } from './drafts';
import { faultsOf } from '../fields/fieldErrors';
import { Fields, problemsOf } from '../fields/fields';
import { useForm } from './initialForm';
import { FormFrame, Reading, Source } from './formFrame';
import { INotebook } from './notebook';
import { goToPreview, Highlight, Preview } from '../preview/preview';
import { useSubmitting } from './submitting';
import { IForm } from '../model/formRequest';

export interface IFormProps {
  notebook: INotebook;
  drafts: IDrafts;
  typed: ITyped;
  highlight: Highlight;
  /** A job whose request fills the form. */
  like: string | null;
  site: ISite;
  jobs: IJobs;
  commands: CommandRegistry;
  trans: TranslationBundle;
  confirmLarge(ranks: number): Promise<boolean>;
  confirmDiscard(): Promise<boolean>;
  submitted(): void;
}

/** The form, the check report, and the preview. */
export function SubmitForm(props: IFormProps): JSX.Element {
  const { site, jobs, trans, notebook, like } = props;
  const { profiles } = site;
  const [filled, change, from, discard] = useForm({ ...props, profiles });
  const form = filled?.form ?? null;
  const defaults = filled?.defaults ?? '';
  const faults = useMemo(
    () => (form ? faultsOf(form, defaults, trans) : []),
    [form, defaults, trans]
  );
  const ask = useJobPlan(jobs, notebook);
  const check = useCheck({ ...props, filled, faults, ask });
  const { checked, unsaved, lastPlan: shownPlan, again, refuse, renew } = check;
  const [saved, setSaved] = useState<IForm | null>(null);
  const [whole, setWhole] = useState<HTMLDivElement | null>(null);
  const oneColumn = useOneColumn(whole);
  const [tab, setTab] = useState('script');
  const { found, why } = problemsOfJob(faults, checked, trans);
  const focus = (...selectors: string[]): void =>
    selectors
      .map(selector => whole?.querySelector<HTMLElement>(selector))
      .find(found => found)
      ?.focus();
  const [sending, submit] = useSubmitting({
    ...props,
    filled,
    checked,
    why,
    // the button responds: it focuses what keeps it disabled
    hindered: () => focus('[aria-invalid="true"]', FINDING_LINKS),
    refuse,
    renew
  });

  if (!form) {
    return <Reading trans={trans} />;
  }
  const { plan } = checked;
  const keep = async (): Promise<void> => {
    await props.drafts.save(notebook.path, like, form);
    setSaved(form);
  };
  const startOver = async (): Promise<void> => {
    if (discard && (await props.confirmDiscard())) {
      await discard();
      focus('.jp-DtrainJob-submitForm [data-field]'); // the link is gone
    }
  };
  return (
    <FormFrame
      title={trans.__('Submit %1', notebook.path.split('/').pop())}
      under={
        <Source
          from={from}
          usual={trans.__(
            'The job runs without this browser, and without the Jupyter server.'
          )}
          discard={discard && startOver}
          trans={trans}
        />
      }
      oneColumn={oneColumn}
      report={
        <SubmitReport
          notebook={notebook}
          checked={checked}
          faults={faults}
          again={again}
          unsaved={unsaved}
          focus={focus}
          preview={shownPlan && oneColumn ? () => goToPreview(whole) : null}
          trans={trans}
        />
      }
      preview={
        shownPlan && (
          <Preview
            chosen={tab}
            choose={setTab}
            plan={shownPlan}
            state={!plan ? 'earlier' : faults.length ? 'partial' : 'current'}
            highlight={props.highlight}
            trans={trans}
          />
        )
      }
      whole={setWhole}
      send={submit}
      bar={
        <SubmitBar
          plan={faults.length ? null : plan}
          time={form.time}
          why={why}
          sending={sending}
          saved={saved === form}
          trans={trans}
          save={() => void reportErrors(trans, keep)}
          send={submit}
        />
      }
    >
      <Fields
        form={form}
        change={change}
        problems={problemsOf(faults, checked.error, found, trans)}
        profiles={profiles}
        plan={shownPlan}
        tagged={notebook.tagged}
        trans={trans}
      />
    </FormFrame>
  );
}
