/** Every question, in the order in which they are asked. */
import { cycles } from './cycles.ts'
import { drift } from './drift.ts'
import { eventsIn } from './events-in.ts'
import { fanOutQuestion } from './fan-out.ts'
import { ingestion } from './ingest.ts'
import { limits } from './limits.ts'
import { memory } from './memory.ts'
import { oneClient } from './one-client.ts'
import { polls } from './polls.ts'
import type { Question } from './question.ts'
import { replay } from './replay.ts'
import { scheduler } from './scheduler.ts'
import { startUp } from './start-up.ts'
import { wake } from './wake.ts'

export const questions: readonly Question[] = [
  limits,
  polls,
  cycles,
  oneClient,
  eventsIn,
  ingestion,
  fanOutQuestion,
  wake,
  memory,
  startUp,
  replay,
  scheduler,
  drift,
]
