import { TranslationBundle } from '@jupyterlab/translation';

import {
  faultOf,
  linesOf,
  NAME,
  NoAssignment,
  withoutParameter
} from '../model/assignments';
import { labelOf } from './labels';
import { IForm } from '../model/formRequest';

/** An error of a field, as text. `parameter`: the parameter at fault. */
export interface IFault {
  field: keyof IForm;
  parameter?: string;
  text: string;
}

/**
 * A fault displayed apart from its field: prefixed with the field's name, unless it begins with its
 * parameter's.
 */
export function faultSentence(
  { field, parameter, text }: IFault,
  trans: TranslationBundle
): string {
  return parameter ? text : trans.__('%1: %2', labelOf(field, trans), text);
}

const TIME = /^(\d+-)?\d+(:\d+){0,2}$/;
const FOR_EVER = /^(infinite|unlimited)$/i;
const LONGEST_NAME = 63;
const JOB_NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}_ .-]{0,62}$/u;

/**
 * Errors of a form that can be detected without the server.
 *
 * @param defaults - assignments of the notebook's tagged cell
 */
export function faultsOf(
  form: IForm,
  defaults: string,
  trans: TranslationBundle
): IFault[] {
  const faults: IFault[] = [];
  const whole = (
    field: 'nodes' | 'ranksPerNode' | 'retries' | 'warn',
    least: number,
    most: number
  ): void => {
    const text = form[field].trim();
    if (!text) {
      return;
    }
    if (!/^[+-]?\d+$/.test(text)) {
      const message = trans.__('"%1" is not a whole number.', text);
      faults.push({ field, text: message });
    } else if (Number(text) < least || Number(text) > most) {
      const message =
        Number(text) > most
          ? trans.__('%1 is too high. Enter %2 or less.', text, most)
          : trans.__('%1 is too low. Enter %2 or more.', text, least);
      faults.push({ field, text: message });
    }
  };
  whole('nodes', 1, Infinity);
  whole('ranksPerNode', 1, Infinity);
  whole('retries', 0, 100);
  whole('warn', 0, 86400);
  const time = form.time.trim();
  if (time && !TIME.test(time) && !FOR_EVER.test(time)) {
    faults.push({
      field: 'time',
      text: trans.__(
        '"%1" is not a time. Write 02:00:00, or 1-12:00:00 for a day and a half.',
        time
      )
    });
  }
  const name = form.name.trim();
  if (name.length > LONGEST_NAME) {
    faults.push({
      field: 'name',
      text: trans.__(
        'This name has %1 characters. Use at most %2.',
        name.length,
        LONGEST_NAME
      )
    });
  } else if (name && !JOB_NAME.test(name)) {
    faults.push({
      field: 'name',
      text: trans.__(
        '"%1" can\'t be a name. Use letters, digits, spaces, dots, dashes and underscores, beginning with a letter or digit.',
        name
      )
    });
  }
  return [...faults, ...ofParameters(form.parameters, defaults, trans)];
}

/** What a field with an error is set to. */
const SOUND: Partial<IForm> = { retries: '0', warn: '60' };

/**
 * The form with usual values in place of those at fault.
 *
 * @param defaults - assignments of the notebook's tagged cell
 */
export function withoutFaults(
  form: IForm,
  faults: readonly IFault[],
  defaults: string
): IForm {
  let sound = form;
  for (const { field, parameter } of faults) {
    if (field === 'parameters') {
      const parameters = parameter
        ? withoutParameter(sound.parameters, parameter)
        : defaults;
      sound = { ...sound, parameters };
    } else {
      sound = { ...sound, [field]: SOUND[field] ?? '' };
    }
  }
  return sound;
}

function ofParameters(
  text: string,
  defaults: string,
  trans: TranslationBundle
): IFault[] {
  const field = 'parameters';
  try {
    const usual = new Map(linesOf(defaults).map(p => [p.name, p.value]));
    return linesOf(text).flatMap(({ name, value }): IFault[] => {
      const of = { field, parameter: name } as const;
      if (!NAME.test(name)) {
        return [{ ...of, text: trans.__('"%1" is not a Python name.', name) }];
      }
      switch (faultOf(value, usual.get(name))) {
        case 'empty':
          return [{ ...of, text: trans.__('%1 has no value.', name) }];
        case 'no number':
          return [
            {
              ...of,
              text: trans.__(
                '%1: "%2" is not a number. If it is text, put it in quotes.',
                name,
                value
              )
            }
          ];
        case 'number expected':
          return [
            {
              ...of,
              text: trans.__(
                '%1: %2 is not a number. Enter a number; the notebook has %3.',
                name,
                /^['"]/.test(value) ? value : trans.__('"%1"', value),
                usual.get(name) ?? ''
              )
            }
          ];
        case 'number in quotes':
          return [
            {
              ...of,
              text: trans.__(
                '%1: %2 is text, as it is in quotes. Enter it without quotes.',
                name,
                value
              )
            }
          ];
        default:
          return [];
      }
    });
  } catch (error) {
    if (!(error instanceof NoAssignment)) {
      throw error;
    }
    return [
      {
        field,
        text: trans.__(
          '"%1": write each parameter as name = value.',
          error.line
        )
      }
    ];
  }
}
