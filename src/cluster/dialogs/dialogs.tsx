import { Dialog, InputDialog, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { RequestError } from '../../request/rest';
import { Cluster, Diagnosis } from '../../tokens';

/** Ask before variables are lost. */
export async function confirmLoss(
  title: string,
  body: string,
  verb: string,
  trans: TranslationBundle,
  keep = trans.__('Cancel')
): Promise<boolean> {
  const result = await showDialog({
    title,
    body,
    buttons: [
      Dialog.cancelButton({ label: keep }),
      Dialog.warnButton({ label: verb })
    ]
  });
  return result.button.accept;
}

/** Show an error: the sentence as title, what to do below. */
export async function showFailure(
  error: unknown,
  trans: TranslationBundle
): Promise<void> {
  const known = error instanceof RequestError;
  const message = error instanceof Error ? error.message : String(error);
  await showDialog({
    title: known ? error.body.message : trans.__('The request failed.'),
    body: known ? error.body.hint : message,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** Show what takes a step's time. */
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
  await showDialog({
    title: trans.__('Diagnosis: %1', name),
    body,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** Ask for another number of ranks; fewer loses the last ones' variables, and says so. */
export async function askSize(
  cluster: Cluster,
  trans: TranslationBundle
): Promise<number | null> {
  const result = await InputDialog.getNumber({
    title: trans.__('How many ranks should %1 have?', cluster.name),
    label: trans.__(
      'It has %1. Ranks that stay keep their variables; those that go lose them.',
      cluster.world.size
    ),
    value: cluster.world.size,
    okLabel: trans.__('Change size')
  });
  return result.button.accept ? result.value : null;
}
