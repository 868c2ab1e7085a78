import { Dialog, showDialog } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { request, RequestError } from '../../request/rest';

/** What a host asks, as the server tells it. */
interface IQuestions {
  id: string;
  host: string;
  title: string;
  instructions: string;
  questions: { text: string; hidden: boolean }[];
}

/** The questions of a refusal; null where it is about something else. */
export function questionsOf(error: unknown): IQuestions | null {
  return error instanceof RequestError && error.body.code === 'sign_in'
    ? (error.body.details as unknown as IQuestions)
    : null;
}

/** A field for each question. Nothing of it is kept. */
class Answers extends Widget implements Dialog.IBodyWidget<string[]> {
  constructor(asked: IQuestions) {
    super();
    this.addClass('jp-DtrainCluster-form');
    for (const text of [asked.title, asked.instructions]) {
      if (text) {
        const line = document.createElement('p');
        line.textContent = text;
        this.node.append(line);
      }
    }
    for (const { text, hidden } of asked.questions) {
      const label = document.createElement('label');
      label.textContent = text;
      const input = document.createElement('input');
      input.className = 'jp-mod-styled';
      input.type = hidden ? 'password' : 'text';
      input.autocomplete = hidden ? 'one-time-code' : 'off';
      label.append(input);
      this.node.append(label);
      this._inputs.push(input);
    }
  }

  getValue(): string[] {
    return this._inputs.map(input => input.value);
  }

  private _inputs: HTMLInputElement[] = [];
}

/**
 * Ask the person what a host asks, until it lets us in.
 *
 * @returns whether it did; false where the person gave up
 * @throws RequestError where it refuses
 */
export async function signIn(
  asked: IQuestions,
  trans: TranslationBundle
): Promise<boolean> {
  const settings = ServerConnection.makeSettings();
  for (let round: IQuestions | null = asked; round;) {
    const answered: Dialog.IResult<string[]> = await showDialog({
      title: trans.__('Sign in to %1', round.host),
      body: new Answers(round),
      focusNodeSelector: 'input',
      buttons: [
        Dialog.cancelButton(),
        Dialog.okButton({ label: trans.__('Sign in') })
      ]
    });
    if (!answered.button.accept || !answered.value) {
      return false;
    }
    try {
      const { id } = round;
      const body = { id, answers: answered.value };
      await request(settings, 'POST', 'sign-in', body);
      return true;
    } catch (error) {
      round = questionsOf(error);
      if (!round) {
        throw error;
      }
    }
  }
  return true;
}

/** Begin to sign in to a host; whether it let us in. */
export async function signInTo(
  host: string,
  trans: TranslationBundle
): Promise<boolean> {
  try {
    const settings = ServerConnection.makeSettings();
    await request(settings, 'POST', 'sign-in', { host });
    return true;
  } catch (error) {
    const asked = questionsOf(error);
    if (!asked) {
      throw error;
    }
    return signIn(asked, trans);
  }
}

/**
 * Do something; where a host asks for it, sign in first.
 *
 * @returns false where the person gave up
 */
export async function signedIn(
  trans: TranslationBundle,
  work: () => Promise<void> | void
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    const asked = questionsOf(error);
    if (!asked) {
      throw error;
    }
    return (await signIn(asked, trans)) && signedIn(trans, work);
  }
}
