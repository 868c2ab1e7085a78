import { TranslationBundle } from '@jupyterlab/translation';

import { RequestError } from '../../request/rest';
import { Cluster, ISite, Profile, StartRequest } from '../../tokens';
import {
  countFault,
  Faults,
  FormBody,
  FormDialog,
  nameFault
} from './formDialog';
import { DEFAULT_PROFILE } from '../model/site';
import { questionsOf, signedIn, signIn } from './signin';

type Filled = Partial<StartRequest>;

/** Fields of the start dialog. */
class StartBody extends FormBody<Filled> {
  constructor(
    site: ISite,
    filled: Filled,
    private _trans: TranslationBundle
  ) {
    super();
    const trans = _trans;
    const names = site.profiles.filter(p => !p.error).map(p => p.name);
    for (const name of names.length ? names : [DEFAULT_PROFILE]) {
      const chosen = name === filled.profile;
      this._profile.add(new Option(name, name, false, chosen));
    }
    this.add('profile', trans.__('Profile'), this._profile);
    this.add('ranks', trans.__('Ranks'), this._ranks);
    this.add('name', trans.__('Name'), this._name);
    // no type and no bounds: the browser would disable the button without an explanation
    this._ranks.inputMode = 'numeric';
    this._name.placeholder = trans.__('chosen for you');
    const propose = (): void => {
      const name = this._profile.value;
      const count = usualRanks(site, name);
      this._ranks.value = isLeftToMachine(site, name) ? String(count) : '';
      this._ranks.placeholder =
        count === null
          ? trans.__('as the profile says')
          : trans.__('as the profile says: %1', count);
    };
    this._profile.addEventListener('change', () => {
      propose();
      this.tell({});
    });
    propose();
    if ('ranks' in filled) {
      this._ranks.value = String(filled.ranks ?? '');
    }
    this._name.value = filled.name ?? '';
  }

  getValue(): Filled {
    const ranks = this._ranks.value.trim();
    return {
      profile: this._profile.value,
      ranks: ranks ? Number(ranks) : null,
      name: this._name.value.trim() || null
    };
  }

  faults(): Faults {
    const faults: Faults = {};
    const ranks = this._ranks.value.trim();
    const count = ranks ? countFault(ranks, this._trans) : null;
    if (count) {
      faults.ranks = count;
    }
    const name = this._name.value.trim();
    const wrong = name ? nameFault(name, this._trans) : null;
    if (wrong) {
      faults.name = wrong;
    }
    return faults;
  }

  private _profile = document.createElement('select');
  private _ranks = document.createElement('input');
  private _name = document.createElement('input');
}

/** Whether a profile runs on one machine, and leaves the number of ranks to it. */
function isLeftToMachine(
  { profiles }: Pick<ISite, 'profiles'>,
  name: string
): boolean {
  const listed = profiles.find(p => p.name === name);
  const { nodes, ranks_per_node: ranks } = listed?.profile ?? {};
  return isOnOneMachine(listed) && !nodes && !ranks;
}

/** Whether a profile runs on the server's machine, as the one does that is used before profiles are known. */
function isOnOneMachine(listed: Profile | undefined): boolean {
  return !listed || !!listed.traits?.one_machine;
}

/** Number of ranks that a profile gives a cluster; null if only its machines tell. */
export function usualRanks(
  { profiles, facts }: Pick<ISite, 'profiles' | 'facts'>,
  name: string
): number | null {
  const listed = profiles.find(p => p.name === name);
  const profile = listed?.profile;
  const each =
    profile?.ranks_per_node ??
    (isOnOneMachine(listed) ? (facts?.default_ranks ?? 2) : null);
  return each === null ? null : (profile?.nodes ?? 1) * each;
}

/** An error, assigned to its field. */
function faultsOf(error: RequestError): Faults {
  const field = String(error.body.details.field ?? '');
  return { [field === 'ranks_per_node' ? 'ranks' : field]: error.message };
}

/**
 * Ask what to start, until it starts or the user cancels.
 *
 * @param send - starts it; throws RequestError if the server refuses
 * @param stop - ends a cluster that started after the user cancelled
 */
export async function askStart(
  site: ISite,
  first: Filled,
  trans: TranslationBundle,
  send: (filled: Filled) => Promise<Cluster>,
  stop: (cluster: Cluster) => Promise<void>
): Promise<void> {
  let filled: Filled = first;
  let faults: Faults | null = null;
  for (;;) {
    let prompt: ReturnType<typeof questionsOf> = null;
    const body = new StartBody(site, filled, trans);
    body.tell(faults ?? {});
    const attempt = async (
      value: Filled,
      hasGivenUp: () => boolean
    ): Promise<Faults | null> => {
      try {
        const cluster = await send(value);
        if (hasGivenUp()) {
          await stop(cluster);
        }
        return null;
      } catch (error) {
        prompt = questionsOf(error);
        if (error instanceof RequestError && !prompt) {
          return faultsOf(error);
        }
        if (!prompt) {
          throw error;
        }
        // its dialog opens once this one has closed
        return null;
      }
    };
    const title = trans.__('Start a cluster');
    const start = trans.__('Start');
    const doing = trans.__('Starting…');
    const dialog = new FormDialog(title, body, start, attempt, trans, doing);
    const { button, value } = await dialog.launch();
    if (!button.accept || !value || !prompt) {
      return;
    }
    filled = value;
    try {
      if (await signIn(prompt, trans)) {
        await signedIn(trans, async () => void (await send(value)));
      }
      return;
    } catch (error) {
      if (!(error instanceof RequestError)) {
        throw error;
      }
      faults = faultsOf(error);
    }
  }
}
