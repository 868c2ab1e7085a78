import React from 'react';

import { ReadForm } from '../job/form/readForm';
import { moment, notebookFile, tabOf } from '../job/model/texts';
import { FormWidget, IFormViewProps, JobWidget } from '../job/widgets';
import { ILiveState } from '../tokens';
import { sweepIcon } from '../ui/icons/viewIcons';
import { ISweepFormProps, SweepForm } from './form/form';
import { ISweepProps, SweepBody } from './view';

/** `Sweep: NAME`. */
export class SweepView extends JobWidget {
  constructor(private _props: ISweepProps & { name: string }) {
    super(
      `dtrain-lab-sweep-${_props.id}`,
      _props.trans.__('Sweep: %1', _props.name),
      sweepIcon,
      () => null,
      _props.trans
    );
    this.addClass('jp-DtrainSweep-view');
    _props.sweeps.seen.connect(this._entitle, this);
    this._entitle();
  }

  override dispose(): void {
    this._props.sweeps.seen.disconnect(this._entitle, this);
    super.dispose();
  }

  /** Its title distinguishes it from other sweeps of the same name; its tooltip names the notebook. */
  private _entitle(): void {
    const { id, name, sweeps, trans } = this._props;
    const sweep = sweeps.known.find(s => s.id === id);
    if (!sweep) {
      return;
    }
    const at = moment(sweep.created_at);
    const plain = trans.__('Sweep: %1', name);
    this.title.label = tabOf(sweep, name, plain, sweeps.known, trans);
    this.title.caption = trans.__(
      'Sweep %1 of %2, submitted %3',
      name,
      notebookFile(sweep),
      at
    );
  }

  /** What a restored layout opens it with. */
  get args(): { id: string; name: string } {
    return { id: this._props.id, name: this._props.name };
  }

  protected draw(): JSX.Element {
    return <SweepBody {...this._props} />;
  }
}

/** A notebook has one form of a sweep. */
export function sweepFormId(path: string): string {
  return `dtrain-lab-new-sweep-${path}`;
}

/** The form of a notebook's sweep. */
export class SweepFormView extends FormWidget {
  constructor(
    private _props: IFormViewProps<Omit<ISweepFormProps, 'begun'>> & {
      model: ILiveState;
    }
  ) {
    super(
      sweepFormId(_props.notebook.path),
      _props.trans.__('Sweep: %1', _props.notebook.path.split('/').pop()),
      sweepIcon,
      () => _props.model.watch(),
      _props.typed,
      _props.trans
    );
    this.addClass('jp-DtrainSweep-formView');
  }

  /** What a restored layout opens it with. */
  get args(): { path: string } {
    return { path: this._props.notebook.path };
  }

  /** Its id if its notebook had this path. */
  idAt(path: string): string {
    return sweepFormId(path);
  }

  protected draw(): JSX.Element {
    const { notebook, trans } = this._props;
    return (
      <ReadForm notebook={notebook} trans={trans}>
        {read => (
          <SweepForm
            {...this._props}
            notebook={read}
            begun={() => this.close()}
          />
        )}
      </ReadForm>
    );
  }
}
