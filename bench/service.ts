/**
 * The service under test, as shipped: the built command line on a temporary home and a free port, and the few calls
 * that prepare it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BadArguments } from './args.ts'
import { Child } from './child.ts'
import { createBody, RUN_BODIES } from './load-scripts.ts'
import { Connection, eachOn, type Target, targetOf } from './wire.ts'

const SETUP_CONNECTIONS = 64
const MAIN = '../bin/main.js'

export interface RunnerAccess {
  readonly id: string
  readonly token: string
}

/** Run requests created for setup get a range of serial numbers of their own. */
let setupSerial = 9_000_000_000_000_000

/** Throws BadArguments if the service is not built. */
export function requireService(): void {
  if (existsSync(fileURLToPath(new URL(MAIN, import.meta.url)))) return
  throw new BadArguments('the service is not built: npm run build')
}

/** A running service, with administrator access. */
export class Endpoint {
  readonly target: Target
  readonly token: string

  constructor(target: Target, token: string) {
    this.target = target
    this.token = token
  }

  async createProject(key: string): Promise<void> {
    await this.#ask('POST', '/api/projects', this.token, { key, name: key })
  }

  /** Creates projects `<prefix>-<from>` and following, each with one queued run request. */
  async createProjectsWithWork(prefix: string, from: number, count: number): Promise<void> {
    await eachOn(this.target, SETUP_CONNECTIONS, count, async (connection, index) => {
      const key = `${prefix}-${from + index}`
      await ask(connection, 'POST', '/api/projects', this.token, { key, name: key })
      const body = JSON.parse(createBody(++setupSerial))
      await ask(connection, 'POST', `/api/projects/${key}/run-requests`, this.token, body)
    })
  }

  /** Creates runners `<prefix>-0` and following, allowed for every project, with their tokens. */
  async createRunners(prefix: string, count: number, capacity = 1): Promise<RunnerAccess[]> {
    return this.createRunnersLike(prefix, count, () => ({ capacity }))
  }

  /** The same, with further members of each runner from `more(index)`. */
  async createRunnersLike(prefix: string, count: number, more: (index: number) => object): Promise<RunnerAccess[]> {
    const runners: RunnerAccess[] = []
    await eachOn(this.target, SETUP_CONNECTIONS, count, async (connection, index) => {
      const body = { id: `${prefix}-${index}`, allowed_projects: ['*'], ...more(index) }
      const runner = await ask(connection, 'POST', '/api/runners', this.token, body)
      runners[index] = { id: body.id, token: runner.token }
    })
    return runners
  }

  /** Makes the runners hold `count` run requests in all, in the state started. */
  async startRuns(
    project: string,
    runners: readonly RunnerAccess[],
    count: number,
  ): Promise<{ id: string; token: string; trace_id: string }[]> {
    const runs: { id: string; token: string; trace_id: string }[] = []
    // A runner has one unaccepted offer at a time, so each of its runs is started before the next poll.
    const lanes = Math.min(SETUP_CONNECTIONS, runners.length)
    await eachOn(this.target, lanes, lanes, async (connection, lane) => {
      for (let index = lane; index < count; index += lanes) {
        const own = Math.floor(index / lanes) % Math.ceil((runners.length - lane) / lanes)
        const runner = runners[lane + own * lanes]!
        const body = { ...JSON.parse(createBody(++setupSerial)), runner_id: runner.id }
        await ask(connection, 'POST', `/api/projects/${project}/run-requests`, this.token, body)
        const offer = await ask(connection, 'GET', `/api/runners/${runner.id}/run-requests/next?wait=5`, runner.token)
        if (offer === undefined) throw new Error(`${runner.id} was not given the work made for it`)
        const path = `/api/run-requests/${offer.request_id}`
        await ask(connection, 'POST', `${path}/accepted`, runner.token, { attempt: 1 })
        await ask(connection, 'POST', `${path}/started`, runner.token, { attempt: 1 })
        runs.push({ id: offer.request_id, token: runner.token, trace_id: offer.trace.trace_id })
      }
    })
    return runs
  }

  /** Posts one greeting event for the run, and its completion. */
  async finishRun(run: RunnerAccess): Promise<void> {
    const { events, completed } = RUN_BODIES
    await this.#ask('POST', `/api/run-requests/${run.id}/events`, run.token, JSON.parse(events))
    await this.#ask('POST', `/api/run-requests/${run.id}/completed`, run.token, JSON.parse(completed))
  }

  /** @returns the id of a queued run request. */
  async createRunRequest(project: string): Promise<string> {
    const body = JSON.parse(createBody(++setupSerial))
    return (await this.#ask('POST', `/api/projects/${project}/run-requests`, this.token, body)).id
  }

  /** The newest event of this type as served, to give the raw loops a text of realistic size. */
  async sampleEvent(eventType: string): Promise<string> {
    const connection = await Connection.open(this.target)
    const page = await ask(connection, 'GET', `/api/events?event_type=${eventType}&limit=1`, this.token)
    connection.close()
    return JSON.stringify(page.items[0])
  }

  async #ask(method: string, path: string, token: string, body?: object): Promise<any> {
    const connection = await Connection.open(this.target)
    const answer = await ask(connection, method, path, token, body)
    connection.close()
    return answer
  }
}

export class Service extends Endpoint {
  readonly child: Child
  /** From the start of the process to its first line of output. */
  readonly startMs: number

  private constructor(child: Child, target: Target, token: string, startMs: number) {
    super(target, token)
    this.child = child
    this.startMs = startMs
  }

  /** @param flags further flags of `intendant serve`. */
  static async start(home: string, flags: readonly string[] = []): Promise<Service> {
    const from = performance.now()
    const child = new Child(MAIN, {
      arguments: ['serve', ...flags],
      environment: { ENGINE_HOME: home, ENGINE_PORT: '0', ENGINE_HOST: '127.0.0.1', ENGINE_LOG_LEVEL: 'warn' },
      errorFile: join(home, 'bench-stderr.log'),
    })
    let line: Record<string, any>
    try {
      line = await child.firstLine
    } catch (failure) {
      const log = join(home, 'bench-stderr.log')
      const said = existsSync(log) ? readFileSync(log, 'utf8').slice(-2_000) : ''
      throw new Error(`the service did not start: ${(failure as Error).message}\n${said}`)
    }
    const startMs = performance.now() - from
    const token = readFileSync(line.admin_token_file, 'utf8').trim()
    return new Service(child, targetOf(line.listening), token, startMs)
  }

  stop(): Promise<void> {
    return this.child.stop()
  }
}

/** Makes a call that must succeed. @returns the answer's document. */
export async function ask(
  connection: Connection,
  method: string,
  path: string,
  token: string,
  body?: object,
): Promise<any> {
  const answer = await connection.ask(method, path, token, body)
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
