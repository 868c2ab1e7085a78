import { Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { RequestError } from '../../request/rest';
import { Cluster, Diagnosis } from '../../tokens';
import { signedIn } from './signin';
import { countFault, Faults, FormBody, FormDialog } from './formDialog';
import { openDialog } from '../../ui/dialog';

/** Ask for confirmation before variables are lost. */
export async function confirmLoss(
  title: string,
  body: string,
  verb: string,
  trans: TranslationBundle,
  keep = trans.__('Cancel')
): Promise<boolean> {
  const result = await openDialog({
    title,
    body,
    buttons: [
      Dialog.cancelButton({ label: keep }),
      Dialog.warnButton({ label: verb })
    ],
    defaultButton: 0 // Enter loses nothing
  });
  return result.button.accept;
}

/**
 * Show an error: its message as title, its hint below.
 *
 * @param name - the cluster that it is about, where the message names none.
 */
export async function showFailure(
  error: unknown,
  trans: TranslationBundle,
  name = ''
): Promise<void> {
  const answered = error instanceof RequestError;
  const message = error instanceof Error ? error.message : String(error);
  const title = answered ? error.body.message : trans.__('The request failed.');
  await openDialog({
    title:
      name && !title.includes(name) ? trans.__('%1: %2', name, title) : title,
    body: answered ? error.body.hint : message,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** Show a diagnosis of a step's time. */
export async function showDiagnosis(
  name: string,
  found: Diagnosis,
  trans: TranslationBundle
): Promise<void> {
  const body = new Widget();
  body.addClass('jp-DtrainCluster-diagnosis');
  const texts = [
    found.text,
    found.communication?.text,
    found.data?.text,
    ...found.notes
  ];
  for (const text of texts) {
    if (text) {
      const line = document.createElement('p');
      line.textContent = text;
      body.node.append(line);
    }
  }
  await openDialog({
    title: trans.__('Diagnosis: %1', name),
    body,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** The new number of ranks of a cluster. */
class SizeBody extends FormBody<number> {
  constructor(
    private _now: number,
    private _trans: TranslationBundle
  ) {
    super();
    const note = document.createElement('p');
    note.textContent = _trans.__(
      'It has %1. Ranks that stay keep their variables, and those of removed ranks are lost. New ranks start without variables: run the set-up cells again.',
      _now
    );
    this.node.append(note);
    this._size.inputMode = 'numeric';
    this._size.value = String(_now);
    this.add('ranks', _trans.__('Ranks'), this._size);
  }

  getValue(): number {
    return Number(this._size.value);
  }

  faults(): Faults {
    const wrong = countFault(this._size.value.trim(), this._trans);
    if (!wrong && this.getValue() === this._now) {
      const same = this._trans.__(
        'It has %1 now: enter another number.',
        this._now
      );
      return { ranks: same };
    }
    return wrong ? { ranks: wrong } : {};
  }

  private _size = document.createElement('input');
}

/**
 * Ask for a new number of ranks, until the cluster is resized or the user cancels; warns if variables of the
 * last ranks would be lost.
 *
 * @param resize - resizes the cluster; a refusal is shown at the field
 */
export async function askSize(
  cluster: Cluster,
  trans: TranslationBundle,
  resize: (size: number) => Promise<void>
): Promise<void> {
  const body = new SizeBody(cluster.world.size, trans);
  const attempt = async (size: number): Promise<Faults | null> => {
    try {
      await signedIn(trans, () => resize(size));
      return null;
    } catch (error) {
      if (!(error instanceof RequestError)) {
        throw error;
      }
      return { ranks: error.message };
    }
  };
  await new FormDialog(
    trans.__('How many ranks should %1 have?', cluster.name),
    body,
    trans.__('Change size'),
    attempt,
    trans,
    trans.__('Changing…')
  ).launch();
}
