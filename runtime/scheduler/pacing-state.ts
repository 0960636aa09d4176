/** What operators have paused, limited and weighed, as the scheduler and the dispatcher go by it. */
import type { SnapshotOf } from '../../machines/machine.ts'
import { PACING, type PacingContext } from '../../machines/pacing.ts'
import { LANES } from '../../machines/run-request/lanes.ts'
import type { Runtime } from '../api.ts'
import type { Dispatcher } from '../dispatch/api.ts'
import { readable } from '../reader.ts'
import type { LabelPlaces } from './label-places.ts'
import type { Shares } from './shares.ts'

export class PacingState {
  private readonly runtime: Pick<Runtime, 'read'>
  private readonly dispatcher: Pick<Dispatcher, 'setPausedLanes' | 'setWeights'>
  private readonly labels: Pick<LabelPlaces, 'limit'>
  private readonly shares: Pick<Shares, 'setWeights'>
  /** All lanes, until the state is known. */
  paused: ReadonlySet<string> = new Set(LANES)
  isUnreadable = false
  /** The state was read or committed. */
  isKnown = false

  constructor(
    runtime: Pick<Runtime, 'read'>,
    dispatcher: Pick<Dispatcher, 'setPausedLanes' | 'setWeights'>,
    labels: Pick<LabelPlaces, 'limit'>,
    shares: Pick<Shares, 'setWeights'>,
  ) {
    this.runtime = runtime
    this.dispatcher = dispatcher
    this.labels = labels
    this.shares = shares
  }

  /** A state that cannot be read permits nothing: every lane counts as paused. Throws any other error. */
  read(): void {
    const pacing: SnapshotOf<PacingContext> | 'unreadable' | undefined = readable(
      () => this.runtime.read(PACING),
      'unreadable',
    )
    this.take(pacing === 'unreadable' ? pacing : pacing?.context)
  }

  /** Limits and weights come first: no lane may be opened without them. */
  take(state: PacingContext | 'unreadable' | undefined): void {
    this.isUnreadable = state === 'unreadable'
    this.isKnown = !this.isUnreadable
    if (state !== 'unreadable') {
      this.labels.limit(new Map((state?.label_limits ?? []).map(({ label, max_running }) => [label, max_running])))
      const weights = new Map((state?.weights ?? []).map(({ project, weight }) => [project, weight]))
      this.shares.setWeights(weights)
      this.dispatcher.setWeights(weights)
    }
    this.paused = new Set(state === 'unreadable' ? LANES : (state?.paused ?? []).map(({ lane }) => lane))
    this.dispatcher.setPausedLanes(this.paused)
  }
}
