import React from 'react';

import { JobWidget } from '../job/widgets';
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
      () => undefined,
      _props.trans
    );
    this.addClass('jp-DtrainSweep-view');
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

/** The form of a notebook's sweep. What was typed stays while it is hidden. */
export class SweepFormView extends JobWidget {
  constructor(private _props: Omit<ISweepFormProps, 'begun'>) {
    super(
      sweepFormId(_props.notebook.path),
      _props.trans.__('Sweep: %1', _props.notebook.path.split('/').pop()),
      sweepIcon,
      (seen, viewer) => _props.model.setVisible(seen, viewer),
      _props.trans
    );
    this.addClass('jp-DtrainSweep-formView');
  }

  /** Closed or sent, it begins anew; a page that is reloaded disposes of nothing. */
  override dispose(): void {
    if (!this.isDisposed) {
      this._props.typed.forget();
    }
    super.dispose();
  }

  protected override get drawn(): boolean {
    return true;
  }

  protected draw(): JSX.Element {
    return <SweepForm {...this._props} begun={() => this.close()} />;
  }
}
