import { TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import { IDisposable } from '@lumino/disposable';
import React from 'react';

import { JOBS_ID, jobViewId } from '../locations/visibility';
import { ILiveState } from '../tokens';
import { submitIcon } from '../ui/icons/icons';
import { VisibleWidget } from '../ui/visibleWidget';
import { jobIcon, jobsIcon } from '../ui/icons/viewIcons';
import { ITyped } from './form/drafts';
import { IFormProps, SubmitForm } from './form/form';
import { INotebookToRead, ReadForm } from './form/readForm';
import { IJobsProps, JobList } from './list/jobList';
import { moment, notebookFile, tabOf } from './model/texts';
import { IJobProps, JobBody } from './view/view';

/** A view of jobs in the main area. */
export abstract class JobWidget extends VisibleWidget {
  constructor(
    id: string,
    label: string,
    icon: LabIcon,
    watch: () => IDisposable | null,
    words: TranslationBundle
  ) {
    super(watch, words);
    this.id = id;
    this.title.label = label;
    this.title.caption = label;
    this.title.icon = icon;
    this.title.closable = true;
    this.addClass('jp-DtrainUi-view');
    this.node.setAttribute('aria-label', label);
  }
}

/** `Jobs`. */
export class JobsView extends JobWidget {
  constructor(private _props: IJobsProps) {
    super(
      JOBS_ID,
      _props.trans.__('Jobs'),
      jobsIcon,
      () => _props.model.watch(),
      _props.trans
    );
    this.addClass('jp-DtrainJob-listView');
  }

  /** Unfold the slots of a profile's machines, and bring them into view. */
  showSlots(profile: string): void {
    this.choices.set('slots of', profile);
    this.choices.set('slots', true);
    this.choices.set('slots sought', true);
  }

  protected draw(): JSX.Element {
    return <JobList {...this._props} />;
  }
}

/** `Job: NAME`. */
export class JobView extends JobWidget {
  constructor(private _props: IJobProps & { name: string }) {
    super(
      jobViewId(_props.id),
      _props.trans.__('Job: %1', _props.name),
      jobIcon,
      () => _props.model.watch(),
      _props.trans
    );
    this.addClass('jp-DtrainJob-view');
    _props.model.changed.connect(this._entitle, this);
    this._entitle();
  }

  override dispose(): void {
    this._props.model.changed.disconnect(this._entitle, this);
    super.dispose();
  }

  /** Its title distinguishes it from other jobs of the same name; its tooltip names the notebook. */
  private _entitle(): void {
    const { id, model, name, trans } = this._props;
    const job = model.jobs.find(j => j.id === id);
    if (!job) {
      return;
    }
    const at = job.created_at;
    const notebook = notebookFile(job);
    const plain = trans.__('Job: %1', name);
    this.title.label = tabOf(job, name, plain, model.jobs, trans);
    this.title.caption = at
      ? trans.__('Job %1 of %2, submitted %3', name, notebook, moment(at))
      : trans.__('Job %1 of %2', name, notebook);
  }

  /** What a restored layout opens it with. */
  get args(): { id: string; name: string } {
    return { id: this._props.id, name: this._props.name };
  }

  protected draw(): JSX.Element {
    return <JobBody {...this._props} />;
  }
}

/** Properties of a form, for its view, which exists before the notebook has been read. */
export type IFormViewProps<T> = Omit<T, 'notebook'> & {
  notebook: INotebookToRead;
  typed: ITyped;
};

/** A form of a notebook in the main area. Typed text stays while it is hidden. */
export abstract class FormWidget extends JobWidget {
  constructor(
    id: string,
    label: string,
    icon: LabIcon,
    watch: () => IDisposable | null,
    private _typed: ITyped,
    words: TranslationBundle
  ) {
    super(id, label, icon, watch, words);
  }

  /** After closing or sending, it starts again; a page reload disposes of nothing. */
  override dispose(): void {
    if (!this.isDisposed) {
      this._typed.forget();
    }
    super.dispose();
  }

  /** Starts when it is first visible: a restored form makes no request until then. */
  protected override get drawn(): boolean {
    this._begun ||= super.drawn;
    return this._begun;
  }

  private _begun = false;
}

/** A notebook has one form; a duplicated job has its own, in addition. */
export function submitId(path: string, like: string | null): string {
  return ['dtrain-lab-submit', path, like].filter(Boolean).join('-');
}

/** `Submit: NOTEBOOK`. */
export class SubmitView extends FormWidget {
  constructor(
    private _props: IFormViewProps<Omit<IFormProps, 'submitted'>> & {
      model: ILiveState;
    }
  ) {
    super(
      submitId(_props.notebook.path, _props.like),
      _props.trans.__('Submit: %1', _props.notebook.path.split('/').pop()),
      submitIcon,
      () => _props.model.watch(),
      _props.typed,
      _props.trans
    );
    this.addClass('jp-DtrainJob-submitView');
  }

  /** What a restored layout opens it with. */
  get args(): { path: string; like?: string } {
    const { notebook, like } = this._props;
    return like ? { path: notebook.path, like } : { path: notebook.path };
  }

  /** Its id if its notebook had this path. */
  idAt(path: string): string {
    return submitId(path, this._props.like);
  }

  protected draw(): JSX.Element {
    const { notebook, trans } = this._props;
    return (
      <ReadForm notebook={notebook} trans={trans}>
        {read => (
          <SubmitForm
            {...this._props}
            notebook={read}
            submitted={() => this.close()}
          />
        )}
      </ReadForm>
    );
  }
}
