/** The parts of stories: their calls, their environment, and how any of them begins a run. */
import type { Random } from '../random.ts'
import type { Caller, Tenant } from './world.ts'

/** A call of a story. The path is part of the operation's name; what is not given is made from the schemas. */
export interface Step {
  /** The name of the operation: `POST /api/run-requests/{id}/accepted`. */
  readonly operation: string
  readonly caller: Caller
  readonly params?: readonly string[]
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Members that the body must have; others that its schema allows may be added. */
  readonly body?: Readonly<Record<string, unknown>>
  /** The body has no other members. */
  readonly exact?: boolean
}

export interface StepAnswer {
  readonly status: number
  readonly body: any
}

export type Walk = Generator<Step, void, StepAnswer>

/** The environment of a story. */
export interface Stage {
  readonly random: Random
  readonly tenant: Tenant
  /** Key of a project that the tenant's people see. */
  readonly project: string
  /** Free text that can be recognized as the tenant's. */
  text(): string
  /** One of the tenant's people with that right. */
  person(right: string): Caller
  /** One of the tenant's runners. */
  runner(): Caller
}

/** Creates a request and polls for it. Returns what the runner was offered. */
export function* begun(
  stage: Stage,
  runner: Caller,
  more: Record<string, unknown> = {},
): Generator<Step, any, StepAnswer> {
  const { random } = stage
  const created = yield {
    operation: 'POST /api/projects/{id}/run-requests',
    caller: stage.person('work.submit'),
    params: [stage.project],
    body: {
      entry_event: 'greet_requested',
      payload: { name: stage.text(), n: random.hex(8) },
      runner_id: runner.runnerId,
      ...more,
    },
    exact: true,
  }
  if (created.status !== 201) return undefined
  if (more.throttle === 'full') {
    yield {
      operation: 'POST /api/run-requests/{id}/approve',
      caller: stage.person('approve.full'),
      params: [created.body.id],
      body: {},
      exact: true,
    }
  }
  const polled = yield* polledFor(runner)
  return polled
}

export function* polledFor(runner: Caller): Generator<Step, any, StepAnswer> {
  for (let tries = 0; tries < 3; tries++) {
    const polled = yield {
      operation: 'GET /api/runners/{runner_id}/run-requests/next',
      caller: runner,
      params: [runner.runnerId!],
      query: tries === 0 ? {} : { wait: '1' },
    }
    if (polled.status === 200) return polled.body
    if (polled.status !== 204) return undefined
  }
  return undefined
}

export function post(runner: Caller, id: string, name: string, body: Record<string, unknown>, exact = true): Step {
  return { operation: `POST /api/run-requests/{id}/${name}`, caller: runner, params: [id], body, exact }
}
