import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';

import { formatRanks } from '../../metrics/format';

/** Ranks with widgets that no longer change: their processes have ended, or they have lost their kernel. */
export interface IStill {
  dead: readonly number[];
  disconnected: readonly number[];
  noKernel: readonly number[];
}

/** What is to be said of the widgets of a cell. */
export interface IWidgetNotes {
  /** Number of widgets of living ranks that can't be displayed: no kernel has their models. */
  gone: number;
  /** Ranks with widgets that are disabled, as their processes have ended. */
  dead: readonly number[];
  /** Ranks with widgets that are disabled, as no kernel passes their messages on. */
  disconnected: readonly number[];
  /** Ranks with widgets that are disabled, as their notebook no longer has a kernel. */
  noKernel: readonly number[];
  /** Ranks that ended before their widgets were loaded. */
  unloaded: readonly number[];
  /** Ranks with widgets without controls that no longer change. */
  still: IStill;
}

/**
 * The notes on widgets in a copy of a notebook: the processes of its ranks may be alive, but not for this notebook,
 * whose kernel is another one.
 */
export function notesOfCopy(notes: IWidgetNotes): IWidgetNotes {
  const both = (a: readonly number[], b: readonly number[]): number[] =>
    [...new Set([...a, ...b])].sort((x, y) => x - y);
  return {
    gone: notes.gone + notes.unloaded.length,
    dead: [],
    disconnected: both(notes.dead, notes.disconnected),
    noKernel: notes.noKernel,
    unloaded: [],
    still: {
      dead: [],
      disconnected: both(notes.still.dead, notes.still.disconnected),
      noKernel: notes.still.noKernel
    }
  };
}

/** Why widgets are not displayed, or disabled. */
export function WidgetNotes(props: {
  notes: IWidgetNotes;
  trans: TranslationBundle;
}): JSX.Element {
  const { notes, trans } = props;
  return (
    <>
      {notes.gone > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            'There was a widget here. It is shown again once the cell has run.',
            'There were widgets here. They are shown again once the cell has run.',
            notes.gone
          )}
        </p>
      )}
      {notes.dead.length > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            'The widgets of rank %2 are disabled: its process has ended. To use them, run the cell again.',
            'The widgets of ranks %2 are disabled: their processes have ended. To use them, run the cell again.',
            notes.dead.length,
            formatRanks(notes.dead)
          )}
        </p>
      )}
      {notes.disconnected.length > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            "The widgets of rank %2 are disabled: this notebook's kernel was restarted or changed. To use them, run the cell again.",
            "The widgets of ranks %2 are disabled: this notebook's kernel was restarted or changed. To use them, run the cell again.",
            notes.disconnected.length,
            formatRanks(notes.disconnected)
          )}
        </p>
      )}
      {notes.noKernel.length > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            'The widgets of rank %2 are disabled: this notebook no longer has a kernel. To use them, run the cell again.',
            'The widgets of ranks %2 are disabled: this notebook no longer has a kernel. To use them, run the cell again.',
            notes.noKernel.length,
            formatRanks(notes.noKernel)
          )}
        </p>
      )}
      {notes.still.dead.length > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            'The display of rank %2 no longer changes: its process has ended. To see it change, run the cell again.',
            'The displays of ranks %2 no longer change: their processes have ended. To see them change, run the cell again.',
            notes.still.dead.length,
            formatRanks(notes.still.dead)
          )}
        </p>
      )}
      {notes.still.disconnected.length > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            "The display of rank %2 no longer changes: this notebook's kernel was restarted or changed. To see it change, run the cell again.",
            "The displays of ranks %2 no longer change: this notebook's kernel was restarted or changed. To see them change, run the cell again.",
            notes.still.disconnected.length,
            formatRanks(notes.still.disconnected)
          )}
        </p>
      )}
      {notes.still.noKernel.length > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            'The display of rank %2 no longer changes: this notebook no longer has a kernel. To see it change, run the cell again.',
            'The displays of ranks %2 no longer change: this notebook no longer has a kernel. To see them change, run the cell again.',
            notes.still.noKernel.length,
            formatRanks(notes.still.noKernel)
          )}
        </p>
      )}
      {notes.unloaded.length > 0 && (
        <p className="jp-DtrainOutput-gone">
          {trans._n(
            'Widgets of rank %2 were not loaded: its process has ended. To show them, run the cell again.',
            'Widgets of ranks %2 were not loaded: their processes have ended. To show them, run the cell again.',
            notes.unloaded.length,
            formatRanks(notes.unloaded)
          )}
        </p>
      )}
    </>
  );
}
