/** A dispatcher in a world that a test turns by hand, with runners that are registered and silent. */
import { createDispatcher, type Dispatcher } from '../../../runtime/dispatch/dispatcher.ts'
import { FakeRuntime, type RunnerGiven } from './fake.ts'

export interface World {
  readonly fake: FakeRuntime
  readonly dispatcher: Dispatcher
}

export function world(runners: Record<string, RunnerGiven> = {}): World {
  const fake = new FakeRuntime()
  const dispatcher = createDispatcher(fake.runtime)
  for (const [id, given] of Object.entries(runners)) fake.runner(id, given)
  fake.run()
  return { fake, dispatcher }
}

/** The service stops and starts: what was committed is there, what was in memory is not. */
export function restarted({ fake, dispatcher }: World): World {
  dispatcher.close()
  const next = new FakeRuntime()
  next.adopt(fake)
  return { fake: next, dispatcher: createDispatcher(next.runtime) }
}
