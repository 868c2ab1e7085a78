import { AccordionPanel, Widget } from '@lumino/widgets';
import { expect, it } from 'vitest';

import { ContentHeights, divide, IRequirements, LEAST } from './sectionHeights';

const grows = (wanted: number, priority: number, most = 1): IRequirements => ({
  wanted,
  least: LEAST,
  first: 0,
  priority,
  most,
  weight: 1
});
const takes = (weight: number): IRequirements => ({
  wanted: null,
  least: LEAST,
  first: 0,
  priority: Infinity,
  most: 0,
  weight
});

it('gives sections what they have to say, and others what is left', () => {
  const wishes = [
    grows(180, 1),
    grows(120, 3),
    takes(3),
    takes(2),
    grows(60, 2)
  ];
  expect(divide(600, wishes)).toEqual([180, 120, 50 + 84, 50 + 56, 60]);
});

it('serves those first with the highest priority, and leaves each a little', () => {
  const wishes = [grows(300, 1), grows(400, 3, 0.75), takes(1), grows(100, 2)];
  const heights = divide(600, wishes);
  expect(heights).toEqual([300, LEAST + 75, LEAST + 25, 100]);
  expect(divide(100, wishes)).toEqual([LEAST, LEAST, LEAST, LEAST]);
  wishes[1].least = 84;
  expect(divide(300, wishes)).toEqual([116, 84, LEAST, LEAST]);
  // an open form gets its height before other content, as far as there is room
  wishes[3].first = 90;
  expect(divide(300, wishes)).toEqual([76, 84, LEAST, 90]);
  expect(divide(250, wishes)).toEqual([LEAST, 84, LEAST, 66]);
});

it('leaves no room unused where all sections grow', () => {
  const heights = divide(400, [grows(100, 1), grows(60, 2)]);
  expect(heights).toEqual([220, 180]);
});

it('lets a stack grow with its rows as far as the variables keep some room', () => {
  const stack = (rows: number): IRequirements => grows(rows, 4, 0.4);
  expect(divide(400, [grows(200, 3, 0.75), takes(3), stack(28)])).toEqual([
    200,
    LEAST + 100,
    LEAST
  ]);
  expect(divide(400, [grows(200, 3, 0.75), takes(3), stack(300)])).toEqual([
    200,
    LEAST + 60,
    LEAST + 40
  ]);
});

it.each([
  [500, 200, []],
  [499, 300, ['spare']],
  // only what can't be lower than its content closes the last one
  [300, 300, ['spare']],
  [199, 300, ['spare', 'last']]
])(
  'closes spare sections of %i px where others are as high as %i px',
  async (space, wanted, closed) => {
    const accordion = new AccordionPanel();
    const sections = ['firm', 'grows', 'spare', 'last'].map(label => {
      const section = new Widget();
      section.title.label = label;
      accordion.addWidget(section);
      return section;
    });
    const [firm, grows, spare, last] = sections;
    Object.defineProperty(accordion.node, 'clientHeight', {
      get: () =>
        space + accordion.spacing * sections.filter(s => s.isVisible).length
    });
    const high = (offsetHeight: number): HTMLElement =>
      Object.defineProperty(document.createElement('div'), 'offsetHeight', {
        value: offsetHeight
      });
    Widget.attach(accordion, document.body);
    const heights = new ContentHeights(accordion, [], spare, last);
    const growth = { beside: 0, least: LEAST, priority: 1, most: 1 };
    heights.follow(firm, high(100), { ...growth, firm: true });
    heights.follow(grows, high(wanted), { ...growth, firm: false });
    // a deep stack, drawn later, closes nothing
    let drawn: HTMLElement | null = null;
    const stack = { ...growth, firm: false, yields: true };
    heights.seek(spare, () => drawn, stack);
    drawn = high(1000);
    heights.refresh();
    await new Promise(resolve => window.requestAnimationFrame(resolve));
    const names = sections.filter(s => !s.isVisible).map(s => s.title.label);
    expect(names).toEqual(closed);
    heights.dispose();
    accordion.dispose();
  }
);
