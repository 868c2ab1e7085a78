import { Debugger } from '@jupyterlab/debugger';
import { expect, it } from 'vitest';

import { DebuggerService } from '../jupyterlab/debuggerService';
import { EditedCells, goneSources, linesAfterEdit } from './editedCells';

const TEXT = 'a = 1\nb = 2\nprint(a)';
const pathOf = (text: string): string => `/tmp/ipykernel_1/${text.length}.py`;

/** A notebook of two cells; each dot is beside line 2. */
function made() {
  const model = new Debugger.Model({
    mimeTypeService: null
  } as unknown as ConstructorParameters<typeof Debugger.Model>[0]);
  const cells = [TEXT, `${TEXT}\nb`].map(text => ({
    key: {},
    text,
    dots: (): number[] | null => null
  }));
  const sent: string[] = [];
  const kernel = { answers: async (): Promise<void> => undefined };
  const debug = {
    model,
    getCodeId: pathOf,
    updateBreakpoints: async (text: string, points: { line?: number }[]) => {
      const remote = new Map(model.breakpoints.breakpoints);
      await kernel.answers();
      model.breakpoints.restoreBreakpoints(remote);
      model.breakpoints.setBreakpoints(
        pathOf(text),
        points.map(({ line }) => ({ line, verified: true }))
      );
    }
  };
  const service = new DebuggerService(debug, () => undefined);
  const edited = new EditedCells(debug, service, {
    cells: () => cells,
    send: (command, args) => {
      const { code, source, breakpoints } = args as {
        code?: string;
        source?: { path: string };
        breakpoints?: { line: number }[];
      };
      const lines = breakpoints?.map(({ line }) => line) ?? [];
      const path = source?.path ?? pathOf(code!);
      sent.push([command, path.split('/').pop(), ...lines].join(' '));
    },
    asking: (_, lines) => lines.map(line => ({ line }))
  });
  const listed = (): string[] =>
    [...model.breakpoints.breakpoints].flatMap(([path, points]) =>
      points.map(({ line }) => `${path.split('/').pop()} ${line}`)
    );
  const set = async (n: number, line = 2): Promise<void> =>
    debug.updateBreakpoints(cells[n].text, [{ line }]);
  return { cells, edited, sent, listed, set, model, kernel };
}

it('sends the breakpoints of an edited cell for its new text before it is run', async () => {
  const { cells, edited, sent, listed, set } = made();
  await set(0);
  await set(1);
  edited.begins(cells[0].key);
  expect(sent).toEqual([]); // nothing was edited
  edited.ended(cells[0].key);
  cells[0].text = `# edited\n${TEXT}`;
  edited.begins(cells[0].key);
  expect(sent).toEqual([
    'dumpCell 29.py',
    'setBreakpoints 29.py 3',
    'setBreakpoints 20.py'
  ]);
  expect(listed().sort()).toEqual(['22.py 2', '29.py 3']);
});

it('removes breakpoints of a text that is gone again, where the kernel answers with them late', async () => {
  const { cells, edited, listed, set, model } = made();
  await set(0);
  const before = new Map(model.breakpoints.breakpoints);
  cells[0].text = `# edited\n${TEXT}`;
  edited.begins(cells[0].key);
  expect(listed()).toEqual(['29.py 3']);
  model.breakpoints.restoreBreakpoints(
    new Map([...model.breakpoints.breakpoints, ...before])
  );
  expect(listed()).toEqual(['29.py 3']);
});

it('keeps the dot of a cell that is edited before the kernel has answered', async () => {
  const { cells, edited, listed, set, model, kernel } = made();
  await set(0);
  let dots: number[] = [2];
  cells[0].dots = () => dots;
  const draw = (): void => {
    dots = model.breakpoints
      .getBreakpoints(pathOf(cells[0].text))
      .flatMap(({ line }) => line ?? []);
  };
  model.breakpoints.changed.connect(draw);
  model.breakpoints.restored.connect(draw);
  kernel.answers = async () => {
    cells[0].text = `# edited\n${TEXT}`;
    dots = [3]; // JupyterLab moves it with the text
  };
  await set(1);
  edited.begins(cells[0].key);
  expect(dots).toEqual([3]);
  expect(listed().sort()).toEqual(['22.py 2', '29.py 3']);
});

it('keeps the breakpoints of a cell that is run before the kernel has answered', async () => {
  const { cells, edited, listed, set, kernel } = made();
  await set(0);
  kernel.answers = async () => {
    cells[0].text = `# edited\n${TEXT}`;
    edited.begins(cells[0].key);
  };
  await set(1);
  expect(listed().sort()).toEqual(['22.py 2', '29.py 3']);
});

it('has one row for a dot, however often its cell was edited', async () => {
  const { cells, listed, set } = made();
  await set(0);
  for (let i = 1; i < 5; i++) {
    cells[0].text = TEXT + '.'.repeat(10 * i);
    await set(0); // as JupyterLab, a second later
  }
  expect(listed()).toEqual(['60.py 2']);
});

it('leaves the breakpoints of a text that runs, until it has ended', async () => {
  const { cells, edited, listed, set } = made();
  await set(0);
  edited.begins(cells[0].key);
  cells[0].text = `${TEXT}    `;
  await set(0);
  expect(listed()).toEqual(['20.py 2', '24.py 2']);
  edited.ended(cells[0].key);
  expect(listed()).toEqual(['24.py 2']);
});

it('leaves those of consoles and files', () => {
  const known = new Set(['1.py', '2.py']);
  const listed = ['/k/1.py', '/k/2.py', '/k/3.py', '/work/model.py'];
  expect(goneSources(listed, known, ['/other/2.py'])).toEqual(['/k/1.py']);
});

it('follows what the user sees, else the text', () => {
  const before = 'a\nb\nc';
  const after = 'x\na\nb';
  const lines = (dots: number[] | null, has = [2]): number[] =>
    linesAfterEdit(before, after, has, () => dots);
  expect(lines(null)).toEqual([3]);
  expect(lines([])).toEqual([]); // the line was deleted, and its dot
  expect(lines([1, 1])).toEqual([1]);
  expect(lines([1], [])).toEqual([]); // it had none
});
