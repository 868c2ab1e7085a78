import { IBlock } from '../lines/parts';

/** A block of text, and its element. */
export interface IPlacedBlock extends IBlock {
  host: HTMLElement;
}

/** Elements for text between a cell's displays: they are siblings of the displays in the cell's output. */
export class Interleaved {
  constructor(private _area: HTMLElement) {}

  /** Place these blocks, in this order; elements of blocks that exist already are reused. */
  set(blocks: readonly IBlock[]): readonly IPlacedBlock[] {
    this._hosts.splice(blocks.length).forEach(host => host.remove());
    while (this._hosts.length < blocks.length) {
      const host = document.createElement('div');
      host.className = 'jp-DtrainOutput-between';
      this._hosts.push(host);
    }
    return blocks.map((block, i) => {
      const host = this._hosts[i];
      host.style.order = String(block.order);
      if (host.parentNode !== this._area) {
        this._area.append(host);
      }
      return { ...block, host };
    });
  }

  private _hosts: HTMLElement[] = [];
}
