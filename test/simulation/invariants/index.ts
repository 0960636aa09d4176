/** Everything that a history is checked against. A new promise is one file here, and one line below. */
import { agentSessionsEnd } from './agent-sessions-end.ts'
import { answersAreTrue } from './answers-are-true.ts'
import { attemptsFence } from './attempts-fence.ts'
import { commandsRunOnce } from './commands-run-once.ts'
import { cyclesAreCountedOnce } from './cycles-are-counted-once.ts'
import { everythingSettles } from './everything-settles.ts'
import { factsAreRecordedOnce } from './facts-are-recorded-once.ts'
import type { MakeInvariant } from './invariant.ts'
import { keysNameOneRequest } from './keys-name-one-request.ts'
import { labelsTakeAsManyAsTheyMay } from './labels-take-as-many-as-they-may.ts'
import { leasesLast } from './leases-last.ts'
import { listsAreTrue } from './lists-are-true.ts'
import { meaningHoldsTogether } from './meaning-holds-together.ts'
import { noPollWaitsBesideWork } from './no-poll-waits-beside-work.ts'
import { offersReachSomebody } from './offers-reach-somebody.ts'
import { oneOwner } from './one-owner.ts'
import { ownersComeToRest } from './owners-come-to-rest.ts'
import { ownersDoOneThingAtATime } from './owners-do-one-thing-at-a-time.ts'
import { presenceIsTrue } from './presence-is-true.ts'
import { projectsGetTheirShares } from './projects-get-their-shares.ts'
import { recordsAgreeWithTheLog } from './records-agree-with-the-log.ts'
import { repositoriesTakeAsManyAsTheyMay } from './repositories-take-as-many-as-they-may.ts'
import { retentionTakesOnlyWhatIsOld } from './retention-takes-only-what-is-old.ts'
import { runnersTakeWhatTheyMay } from './runners-take-what-they-may.ts'
import { sentinelsSubmitOnce } from './sentinels-submit-once.ts'
import { sessionsEndWhatCameBefore } from './sessions-end-what-came-before.ts'
import { steeringIsAppliedOnce } from './steering-is-applied-once.ts'
import { stepsStandUponEachOther } from './steps-stand-upon-each-other.ts'
import { theLedgerKeepsItsRules } from './the-ledger-keeps-its-rules.ts'
import { thingsHappenInTime } from './things-happen-in-time.ts'
import { watchersCatchUp } from './watchers-catch-up.ts'
import { whatWasTakenStaysTaken } from './what-was-taken-stays-taken.ts'

export const invariants: readonly MakeInvariant[] = [
  answersAreTrue,
  stepsStandUponEachOther,
  oneOwner,
  attemptsFence,
  runnersTakeWhatTheyMay,
  repositoriesTakeAsManyAsTheyMay,
  labelsTakeAsManyAsTheyMay,
  projectsGetTheirShares,
  leasesLast,
  sessionsEndWhatCameBefore,
  noPollWaitsBesideWork,
  offersReachSomebody,
  whatWasTakenStaysTaken,
  thingsHappenInTime,
  keysNameOneRequest,
  factsAreRecordedOnce,
  commandsRunOnce,
  theLedgerKeepsItsRules,
  sentinelsSubmitOnce,
  listsAreTrue,
  presenceIsTrue,
  recordsAgreeWithTheLog,
  retentionTakesOnlyWhatIsOld,
  meaningHoldsTogether,
  agentSessionsEnd,
  ownersDoOneThingAtATime,
  cyclesAreCountedOnce,
  steeringIsAppliedOnce,
  ownersComeToRest,
  everythingSettles,
  watchersCatchUp,
]
