/** Everything that a history is held against. A new promise is one file here, and one line below. */
import { answersAreTrue } from './answers-are-true.ts'
import { everythingSettles } from './everything-settles.ts'
import type { MakeInvariant } from './invariant.ts'
import { watchersCatchUp } from './watchers-catch-up.ts'

export const invariants: readonly MakeInvariant[] = [answersAreTrue, everythingSettles, watchersCatchUp]
