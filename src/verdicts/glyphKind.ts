/** All glyphs; their shape tells the state, colour repeats it. */
export type GlyphKind =
  | 'starting'
  | 'idle'
  | 'busy'
  | 'in collective'
  | 'paused'
  | 'slow'
  | 'stuck'
  | 'lost'
  | 'good'
  | 'partly good'
  | 'failed'
  | 'interrupted'
  | 'off'
  | 'waiting'
  | 'todo'
  | 'stopped'
  | 'cancelled';
