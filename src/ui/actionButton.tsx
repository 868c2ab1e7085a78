import React, { useRef, useState } from 'react';

import { Icon, IconKind } from './icons/icon';
import { tellBriefly } from './text/toast';

/**
 * A button that always responds: it acts, or says why it can't.
 *
 * A disabled one stays focusable; its reason is its title, and a notification when it is pressed.
 */
export function Action(props: {
  label: string;
  /** Whether it is left out, as where the plugin of its command is disabled. */
  hidden?: boolean;
  /** Further clicks are ignored until a returned promise is settled. */
  onClick: (event: React.MouseEvent<HTMLElement>) => unknown;
  /** Why it can't act now. */
  why?: string | null;
  icon?: IconKind;
  primary?: boolean;
  wide?: boolean;
  /** Class that replaces a button's look. */
  className?: string;
  /** Whether only the icon is drawn if there is little room. */
  compact?: boolean;
  hasMenu?: boolean;
  pressed?: boolean;
  title?: string;
}): JSX.Element | null {
  const { why, label } = props;
  const held = useRef(false);
  const [busy, setBusy] = useState(false);
  if (props.hidden) {
    return null;
  }
  const act = async (event: React.MouseEvent<HTMLElement>): Promise<void> => {
    held.current = true;
    try {
      const result = props.onClick(event);
      if (result instanceof Promise) {
        setBusy(true);
        await result;
      }
    } finally {
      held.current = false;
      setBusy(false);
    }
  };
  const classes = [
    props.className ?? 'jp-DtrainUi-button',
    props.primary ? 'jp-mod-primary' : '',
    props.wide ? 'jp-mod-wide' : ''
  ];
  return (
    <button
      type="button"
      className={classes.filter(Boolean).join(' ')}
      aria-disabled={why ? true : undefined}
      aria-busy={busy || undefined}
      aria-haspopup={props.hasMenu ? 'menu' : undefined}
      aria-pressed={props.pressed}
      aria-label={props.icon ? label : undefined}
      title={why ?? props.title ?? (props.compact ? label : undefined)}
      onClick={event => {
        if (why) {
          tellBriefly(why, 'info');
        } else if (!held.current) {
          void act(event);
        }
      }}
    >
      {props.icon && <Icon kind={props.icon} />}
      {props.icon ? (
        <span data-compact={props.compact || undefined}>{label}</span>
      ) : (
        label
      )}
    </button>
  );
}
