import React from 'react';

/** Filters of a list as chips, each with its number of entries. */
export function FilterChips<K extends string>(props: {
  label: string;
  filters: readonly (readonly [K, string])[];
  chosen: K;
  count(key: K): number;
  choose(key: K): void;
}): JSX.Element {
  return (
    <div className="jp-DtrainUi-chips" role="group" aria-label={props.label}>
      {props.filters.map(([key, label]) => (
        <button
          key={key}
          type="button"
          className="jp-DtrainUi-chip"
          aria-pressed={props.chosen === key}
          onClick={() => props.choose(key)}
        >
          {label} {props.count(key)}
        </button>
      ))}
    </div>
  );
}
