/** All actors of a world. A new kind of actor is one file here, and one line below. */
import type { MakeActors } from './actor.ts'
import { emitters } from './emitter.ts'
import { keepers } from './keeper.ts'
import { liars } from './liar.ts'
import { limiters } from './limiter.ts'
import { operators } from './operator.ts'
import { owners } from './owner.ts'
import { readers } from './reader.ts'
import { recallers } from './recaller.ts'
import { reviewers } from './reviewer.ts'
import { runners } from './runner.ts'
import { submitters } from './submitter.ts'
import { timekeepers } from './timekeeper.ts'
import { watchers } from './watcher.ts'
import { weighers } from './weigher.ts'

export const actors: readonly MakeActors[] = [
  runners,
  operators,
  keepers,
  emitters,
  readers,
  watchers,
  submitters,
  recallers,
  liars,
  reviewers,
  owners,
  timekeepers,
  limiters,
  weighers,
]
