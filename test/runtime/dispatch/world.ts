/** A dispatcher in a world that the test moves, with runners that are registered and silent. */
import { createDispatcher, type Dispatcher } from '../../../runtime/dispatch/dispatcher.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { FakeRuntime, poll, type RunnerGiven } from './fake.ts'

export interface World {
  readonly fake: FakeRuntime
  readonly dispatcher: Dispatcher
}

export function world(runners: Record<string, RunnerGiven> = {}): World {
  const fake = new FakeRuntime()
  const dispatcher = createDispatcher(fake.runtime, silentLogger)
  for (const [id, given] of Object.entries(runners)) fake.runner(id, given)
  fake.run()
  return { fake, dispatcher }
}

/** Creates a request and has this runner take and start it; returns its id. */
export function startedBy({ fake, dispatcher }: World, runner: string): string {
  const id = fake.create()
  fake.run()
  poll(dispatcher, runner)
  fake.run()
  fake.report(id, 'started')
  fake.run()
  return id
}

/** The service stops and starts: what was committed is kept, what was in memory is lost. */
export function restarted({ fake, dispatcher }: World): World {
  dispatcher.close()
  const next = new FakeRuntime()
  next.adopt(fake)
  return { fake: next, dispatcher: createDispatcher(next.runtime, silentLogger) }
}
