import { CommandRegistry } from '@lumino/commands';
import { ReadonlyJSONObject } from '@lumino/coreutils';
import React from 'react';

/** Look of a link in a line of text: it makes the line no higher. */
export const IN_TEXT = 'jp-DtrainUi-inText jp-DtrainUi-link';

/**
 * A button that looks like a link and runs a command.
 *
 * Where the plugin of the command is disabled, only its text is left.
 */
export function CommandLink(props: {
  command: string;
  args: ReadonlyJSONObject;
  commands: CommandRegistry;
  /** Its look: by default, of a link in a line of text. */
  className?: string;
  title?: string;
  /** It wraps with the text around it; a button is a box, behind which the text goes on at its right edge. */
  wraps?: boolean;
  children: React.ReactNode;
}): JSX.Element {
  const { command, args, commands, title, children } = props;
  const run = (): void => void commands.execute(command, args);
  if (props.wraps && commands.hasCommand(command)) {
    return (
      <span
        role="button"
        tabIndex={0}
        className={props.className ?? IN_TEXT}
        title={title}
        onClick={run}
        onKeyDown={event => {
          if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            run();
          }
        }}
      >
        {children}
      </span>
    );
  }
  return commands.hasCommand(command) ? (
    <button
      type="button"
      className={props.className ?? IN_TEXT}
      title={title}
      onClick={run}
    >
      {children}
    </button>
  ) : (
    <span title={title}>{children}</span>
  );
}
