import { IDisposable } from '@lumino/disposable';
import { AccordionPanel, Widget } from '@lumino/widgets';
import { MessageLoop } from '@lumino/messaging';

/** Default minimum height of a section, px: as in JupyterLab. */
export const LEAST = 50;

/** Ms until a section has the height of its content. */
export const GROWS = 100;

/** Requirements of a section of the sidebar. */
export interface IRequirements {
  /** Height of its content, px; null for a section that gets what others leave. */
  wanted: number | null;
  /** Its minimum height, px. */
  least: number;
  /** Height of the part that must be fully visible, px; assigned before any other content. */
  first: number;
  /** Priority: sections with a lower number get their height first. */
  priority: number;
  /** The part of the remaining height that it may take. */
  most: number;
  /** Weight with which sections without a height share the rest. */
  weight: number;
}

/**
 * Divide a sidebar's height among its open sections.
 *
 * @param space - height of all sections together, px.
 * @returns a height for each section, px; their sum is `space`, if that suffices for the minimum heights.
 */
export function divide(
  space: number,
  wishes: readonly IRequirements[]
): number[] {
  const heights = wishes.map(({ least }) => least);
  let left = Math.max(0, space - heights.reduce((n, h) => n + h, 0));
  wishes.forEach(({ first }, i) => {
    const more = Math.min(Math.max(0, first - heights[i]), left);
    heights[i] += more;
    left -= more;
  });
  const served = wishes
    .map((wish, i) => ({ ...wish, i }))
    .sort((a, b) => a.priority - b.priority);
  for (const { wanted, most, i } of served) {
    const lacks = Math.max(0, (wanted ?? 0) - heights[i]);
    const more = Math.min(lacks, left * most);
    heights[i] += more;
    left -= more;
  }
  const others = served.filter(wish => wish.wanted === null);
  const takers = others.length ? others : served;
  const sum = takers.reduce((n, { weight }) => n + weight, 0);
  for (const { weight, i } of takers) {
    heights[i] += (left * weight) / sum;
  }
  return heights;
}

/** How a section grows with an element inside it. */
export interface IGrowth {
  /** Height of the section without its content, px. */
  beside: number;
  least: number;
  priority: number;
  most: number;
  /** Whether it can't be made lower than its content. */
  firm: boolean;
  /** Whether its content may be cut rather than that another section is closed for it. */
  yields?: boolean;
  /** The part of its content that must be fully visible; null while there is none. */
  first?: () => HTMLElement | null;
  /** What stands below the content while that scrolls. */
  below?: HTMLElement;
  /** Height of what is shown while the content is empty, px. */
  otherwise?: () => number;
}

/** Gives sections of an accordion the height of their content, as far as there is room. */
export class ContentHeights implements IDisposable {
  /**
   * @param _weights - weights of sections that do not grow, by position, for the remaining height.
   * @param _spare - a section that is closed once if the others' content does not fit.
   * @param _lastSpare - one that is closed once if even firm sections do not fit.
   */
  constructor(
    private _accordion: AccordionPanel,
    private _weights: readonly number[],
    private _spare: Widget | null,
    private _lastSpare: Widget | null
  ) {
    _accordion.setRelativeSizes([..._weights]);
    _accordion.handleMoved.connect(this._moved, this);
    this._observer = new ResizeObserver(() => this._apply());
    this._observer.observe(_accordion.node);
  }

  /** Let a section grow with an element inside it. */
  follow(section: Widget, content: HTMLElement, growth: IGrowth): void {
    const growing = this._growing.get(section);
    if (growing?.content === content) {
      return;
    }
    if (growing) {
      observed(growing).forEach(each => this._observer.unobserve(each));
    }
    this._growing.set(section, { ...growth, content });
    observed({ ...growth, content }).forEach(each =>
      this._observer.observe(each)
    );
  }

  /** Let a section grow with an element that is drawn later, and not by us. */
  seek(section: Widget, find: () => HTMLElement | null, growth: IGrowth): void {
    this._sought.push(() => {
      const content = find();
      if (content) {
        this.follow(section, content, growth);
      }
    });
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._observer.disconnect();
    this._growing.clear();
    this._sought.length = 0;
    this._accordion.handleMoved.disconnect(this._moved, this);
  }

  /** Divide the height again; called when a height changes that no observed element has. */
  refresh(): void {
    window.requestAnimationFrame(() => this._apply());
  }

  /** The user has moved a handle. */
  private _moved(): void {
    this._shares = false;
  }

  private _apply(): void {
    if (this._isDisposed) {
      return;
    }
    const all = this._accordion.widgets;
    const titles = this._accordion.titles.reduce(
      (sum, title) => sum + title.offsetHeight,
      0
    );
    const visible = all.filter(w => w.isVisible);
    const handles = this._accordion.spacing * visible.length;
    const space = this._accordion.node.clientHeight - titles - handles;
    if (space <= 0) {
      return;
    }
    this._sought.forEach(seek => seek());
    const wishes = visible.map(w => this._wish(w, all.indexOf(w)));
    const spare = this._takeSpare(visible, wishes, space);
    if (spare) {
      this._accordion.collapse(all.indexOf(spare));
      this._apply();
      return;
    }
    const heights = divide(space, wishes).map(Math.floor);
    const now = heights.map(
      (height, i) => `${all.indexOf(visible[i])}:${height}`
    );
    if (now.join() === this._before) {
      return;
    }
    this._before = now.join();
    visible.forEach((section, i) => {
      if (this._growing.get(section)?.firm) {
        section.node.style.minHeight = `${Math.min(heights[i], wishes[i].wanted ?? 0)}px`;
      }
    });
    // before the sizes, because an earlier minimum would still apply
    MessageLoop.sendMessage(this._accordion, Widget.Msg.FitRequest);
    if (this._shares) {
      const sizes = this._accordion.relativeSizes();
      visible.forEach((section, i) => {
        sizes[all.indexOf(section)] = heights[i] / space;
      });
      this._accordion.setRelativeSizes(sizes);
    }
  }

  /** The section to close, if the content does not fit; each is returned once. */
  private _takeSpare(
    visible: readonly Widget[],
    wishes: readonly IRequirements[],
    space: number
  ): Widget | null {
    const needed = (whole: (growth: IGrowth) => boolean): number =>
      wishes.reduce((sum, { least, wanted }, i) => {
        const growth = this._growing.get(visible[i]);
        return sum + Math.max(least, (growth && whole(growth) && wanted) || 0);
      }, 0);
    let spare: Widget | null = null;
    if (this._spare?.isVisible && needed(({ yields }) => !yields) > space) {
      [spare, this._spare] = [this._spare, null];
    } else if (
      this._lastSpare?.isVisible &&
      needed(({ firm }) => firm) > space
    ) {
      [spare, this._lastSpare] = [this._lastSpare, null];
    }
    return spare;
  }

  private _wish(section: Widget, place: number): IRequirements {
    const growth = this._growing.get(section);
    const first = growth?.first?.();
    const beside = (growth?.beside ?? 0) + (growth?.below?.offsetHeight ?? 0);
    const isEmpty = !!growth?.otherwise && !growth.content.firstElementChild;
    const height = isEmpty
      ? growth.otherwise!()
      : (growth?.content.offsetHeight ?? 0);
    return {
      wanted: growth ? height + beside : null,
      least: growth?.least ?? LEAST,
      first: first ? first.offsetHeight + beside : 0,
      priority: growth?.priority ?? Infinity,
      most: growth?.most ?? 0,
      weight: this._weights[place] ?? 1
    };
  }

  /** Assigned heights, by section. */
  private _before = '';
  private _isDisposed = false;
  private _shares = true;
  private _observer: ResizeObserver;
  /** Looks for contents that may not be drawn yet. */
  private _sought: (() => void)[] = [];
  private _growing = new Map<Widget, IGrowth & { content: HTMLElement }>();
}

/** The elements on whose heights that of a section depends. */
function observed({
  content,
  below
}: IGrowth & { content: HTMLElement }): HTMLElement[] {
  return below ? [content, below] : [content];
}
