import { Dialog } from '@jupyterlab/apputils';
import { ServerConnection } from '@jupyterlab/services';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { request, RequestError } from '../../request/rest';
import { openDialog } from '../../ui/dialog';

/** The questions of a host, from the server. */
interface IQuestions {
  id: string;
  host: string;
  title: string;
  instructions: string;
  questions: { text: string; hidden: boolean }[];
}

/** The questions, and the settings of the request that needs their answers. */
interface IAsked extends IQuestions {
  settings: ServerConnection.ISettings;
}

/** The questions in an error; null for other errors. */
export function questionsOf(error: unknown): IAsked | null {
  if (!(error instanceof RequestError) || !error.settings) {
    return null;
  }
  const { body, settings } = error;
  return body.code === 'sign_in'
    ? { ...(body.details as unknown as IQuestions), settings }
    : null;
}

/** A field for each question. Answers are not stored. */
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
 * Ask the user a host's questions, until the login succeeds.
 *
 * @returns whether it succeeded; false if the user cancelled
 * @throws RequestError if the host refuses
 */
export async function signIn(
  asked: IAsked,
  trans: TranslationBundle
): Promise<boolean> {
  const { settings } = asked;
  for (let round: IAsked | null = asked; round;) {
    const answered: Dialog.IResult<string[]> = await openDialog({
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
      await request(settings, 'POST', '/sign-in', { body });
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

/** Start to sign in to a host; resolves to whether the login succeeded. */
export async function signInTo(
  host: string,
  settings: ServerConnection.ISettings,
  trans: TranslationBundle
): Promise<boolean> {
  try {
    await request(settings, 'POST', '/sign-in', { body: { host } });
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
 * Run an action; sign in first if a host requires it.
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
