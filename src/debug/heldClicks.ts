import { EditorView } from '@codemirror/view';

import { GUTTER } from './gutterDots';
import { SessionQueue } from './sessionQueue';

/**
 * Hold clicks in the gutter until no kernel is queried.
 *
 * JupyterLab ignores a click in the gutter of a notebook while the debug session is connected to another one's
 * kernel. Nothing would be said of it, and the breakpoint would be missing.
 *
 * @param queue - the queued uses of the debug session.
 */
export function holdClicks(queue: Pick<SessionQueue, 'busy' | 'idle'>): void {
  const hold = async (event: MouseEvent): Promise<void> => {
    const gutter = gutterAt(event.target);
    const editor = gutter?.closest<HTMLElement>('.cm-editor');
    const view = editor && EditorView.findFromDOM(editor);
    if (!gutter || !view || !queue.busy) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    const line = clickedLine(view, gutter, event);
    await queue.idle();
    // it is another element by now, or gone with the debugger
    const now = view.dom.querySelector<HTMLElement>(GUTTER);
    if (now && line <= view.state.doc.lines) {
      const { top, height } = view.lineBlockAt(view.state.doc.line(line).from);
      const clientY = view.documentTop + top + height / 2;
      const { button } = event;
      const again = { bubbles: true, cancelable: true, button, clientY };
      now.dispatchEvent(new MouseEvent('mousedown', again));
    }
  };
  // before CodeMirror's own listener, which is the gutter's
  document.addEventListener('mousedown', event => void hold(event), true);
}

function gutterAt(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(GUTTER) : null;
}

/** Number of the line beside which an event was, as CodeMirror determines it. */
function clickedLine(
  view: EditorView,
  gutter: HTMLElement,
  event: MouseEvent
): number {
  const element = [...gutter.children].find(e =>
    e.contains(event.target as Node)
  );
  const box = element?.getBoundingClientRect();
  const y = box ? (box.top + box.bottom) / 2 : event.clientY;
  const { from } = view.lineBlockAtHeight(y - view.documentTop);
  return view.state.doc.lineAt(from).number;
}
