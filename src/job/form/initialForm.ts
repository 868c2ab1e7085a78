import { TranslationBundle } from '@jupyterlab/translation';
import { useEffect, useState } from 'react';

import { DEFAULT_PROFILE } from '../../cluster/model/site';
import { IJobs, Job, JobRequest, Profile } from '../../tokens';
import { useLatest } from '../../ui/hooks/useLatest';
import { followed } from '../model/assignments';
import { IDrafts, ITyped } from './drafts';
import { INotebook } from './notebook';
import { refusalOf } from '../model/refusal';
import { notebookFile, timedJob } from '../model/texts';
import { emptyForm, formOf, IForm } from '../model/formRequest';

/** Sources of a form's initial contents. */
export interface IFilling {
  notebook: INotebook;
  drafts: IDrafts;
  /** Contents from before the page was reloaded. */
  typed: ITyped;
  /** A job whose request fills the form. */
  like: string | null;
  /** Fields that are set whatever fills the rest, but for a form that was saved for later. */
  begins?: Partial<IForm>;
  jobs: IJobs;
  profiles: readonly Profile[];
  trans: TranslationBundle;
}

/** A form's initial contents, and where they are from. */
interface IContents {
  form: IForm;
  from: string;
  /** Whether they were saved for later. */
  saved?: boolean;
}

/** A form as saved, as in the notebook's last job, or as in its profile; and which of these. */
async function fill(props: IFilling): Promise<IContents> {
  const { notebook, drafts, like, jobs, profiles, trans } = props;
  const draft = await drafts.load(notebook.path, like);
  if (draft) {
    const kept = { ...emptyForm(undefined, ''), ...draft };
    return {
      form: {
        ...kept,
        parameters: followed(kept.parameters, '', notebook.parameters)
      },
      from: trans.__('Filled in from what you saved for later.'),
      saved: true
    };
  }
  const all = await jobs.all();
  const last = all.find(j =>
    like ? j.id === like : notebookFile(j) === notebook.path && !j.sweep
  );
  const id = like ?? last?.id;
  if (id) {
    const request = await jobs.requestOf(id);
    const named = last ? timedJob(last, trans) : id;
    const form = sizedAs(formOf(request, notebook.parameters), request, last);
    return {
      // the copy of a job is called as it is; the next job of a notebook, as the notebook
      form: like ? { ...form, name: request.name ?? '' } : form,
      from: like
        ? trans.__('Filled in from job %1.', named)
        : trans.__('Filled in from your last job, %1.', named)
    };
  }
  const usual = profiles.find(p => p.name === DEFAULT_PROFILE) ?? profiles[0];
  return { form: emptyForm(usual, notebook.parameters), from: '' };
}

/** With the size that the earlier job had, where its request left the nodes open: known before the first check. */
export function sizedAs(
  form: IForm,
  request: Pick<JobRequest, 'nodes'>,
  job: Pick<Job, 'size'> | undefined
): IForm {
  if (!job?.size.nodes || request.nodes !== null) {
    return form;
  }
  const { nodes, ranks_per_node } = job.size;
  return {
    ...form,
    nodes: String(nodes),
    ranksPerNode: String(ranks_per_node)
  };
}

/** A form, and the notebook's assignments from which its parameters started. */
export interface IFilled {
  form: IForm;
  defaults: string;
}

/**
 * The form, null until it is filled; the function to change it; its source; and the function that discards what was
 * saved for later and fills the form as without it, null where it is not from there.
 */
export function useForm(
  props: IFilling
): [
  IFilled | null,
  (part: Partial<IForm>) => void,
  string,
  (() => Promise<void>) | null
] {
  const [filled, setFilled] = useState<IFilled | null>(null);
  const [from, setFrom] = useState('');
  const [saved, setSaved] = useState(false);
  const latest = useLatest(props);
  const { like } = props;
  const { notebook } = props;
  useEffect(() => {
    let gone = false;
    const begin = async (): Promise<void> => {
      const { typed, trans } = latest.current;
      const before = await typed.load<IFilled>('form');
      const filled = before ? null : await fill({ ...latest.current, like });
      if (gone) {
        return;
      }
      if (before) {
        const form = { ...emptyForm(undefined, ''), ...before.form };
        setFilled(followedIn({ ...before, form }, notebook));
        setFrom(trans.__('Filled in as you left it.'));
      } else if (filled) {
        const begins = filled.saved ? {} : latest.current.begins;
        const form = { ...filled.form, ...begins };
        setFilled({ form, defaults: notebook.parameters });
        setFrom(filled.from);
        setSaved(!!filled.saved);
      }
    };
    begin().catch((failure: unknown) => {
      // without a last job it is filled from its profile; the check reports errors
      refusalOf(failure, latest.current.trans);
      if (!gone) {
        const defaults = notebook.parameters;
        const form = emptyForm(undefined, defaults);
        setFilled({ form: { ...form, ...latest.current.begins }, defaults });
      }
    });
    return () => {
      gone = true;
    };
  }, [latest, notebook, like]);
  useEffect(
    () =>
      notebook.onSaved(() =>
        setFilled(before => before && followedIn(before, notebook))
      ),
    [notebook]
  );
  const discard = async (): Promise<void> => {
    const { drafts, typed, begins } = latest.current;
    await drafts.remove(notebook.path, like);
    const { form, from } = await fill({ ...latest.current, like });
    const defaults = notebook.parameters;
    const after = { form: { ...form, ...begins }, defaults };
    typed.save('form', after); // a reload must not bring back what was typed before
    setFilled(after);
    setFrom(from);
    setSaved(false);
  };
  return [
    filled,
    part =>
      setFilled(before => {
        const after = before && {
          ...before,
          form: { ...before.form, ...part }
        };
        if (after) {
          latest.current.typed.save('form', after);
        }
        return after;
      }),
    from,
    saved ? discard : null
  ];
}

/** Parameters follow the notebook, except those that were given another value. */
export function followedIn(filled: IFilled, notebook: INotebook): IFilled {
  const { form, defaults } = filled;
  const now = notebook.parameters;
  if (now === defaults) {
    return filled;
  }
  const parameters = followed(form.parameters, defaults, now);
  return { form: { ...form, parameters }, defaults: now };
}
