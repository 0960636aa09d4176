/** Everything that a history is held against. A new promise is one file here, and one line below. */
import { answersAreTrue } from './answers-are-true.ts'
import { commandsRunOnce } from './commands-run-once.ts'
import { everythingSettles } from './everything-settles.ts'
import { factsAreRecordedOnce } from './facts-are-recorded-once.ts'
import type { MakeInvariant } from './invariant.ts'
import { keysNameOneRequest } from './keys-name-one-request.ts'
import { leasesLast } from './leases-last.ts'
import { listsAreTrue } from './lists-are-true.ts'
import { oneAtATimeChangesARepository } from './one-at-a-time-changes-a-repository.ts'
import { oneOwner } from './one-owner.ts'
import { presenceAlternates } from './presence-alternates.ts'
import { recordsAgreeWithTheLog } from './records-agree-with-the-log.ts'
import { runnersTakeWhatTheyMay } from './runners-take-what-they-may.ts'
import { stepsStandUponEachOther } from './steps-stand-upon-each-other.ts'
import { thingsHappenInTime } from './things-happen-in-time.ts'
import { watchersCatchUp } from './watchers-catch-up.ts'

export const invariants: readonly MakeInvariant[] = [
  answersAreTrue,
  stepsStandUponEachOther,
  oneOwner,
  runnersTakeWhatTheyMay,
  oneAtATimeChangesARepository,
  leasesLast,
  thingsHappenInTime,
  keysNameOneRequest,
  factsAreRecordedOnce,
  commandsRunOnce,
  listsAreTrue,
  presenceAlternates,
  recordsAgreeWithTheLog,
  everythingSettles,
  watchersCatchUp,
]
