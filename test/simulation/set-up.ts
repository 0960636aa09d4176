/**
 * What exists when the storm begins: projects, runners with their tokens, tokens of people. Made over the API, in
 * peace.
 */
import type { Call, Heard, Method } from './network.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

export interface RunnerMade {
  readonly id: string
  readonly token: string
  readonly capacity: number
}

export interface SetUp {
  readonly projects: readonly { readonly key: string; readonly id: string; readonly repository: string | undefined }[]
  readonly runners: readonly RunnerMade[]
  /** May see the first project and nothing else. */
  readonly confinedToken: string
}

export const LABELS = ['gpu', 'linux'] as const

export async function setUp(world: World): Promise<SetUp> {
  const { plan } = world
  while (world.process?.isServing !== true) await world.timeline.pass(10)
  const random = world.random.fork()
  const projects: SetUp['projects'][number][] = []
  for (let i = 1; i <= plan.projects; i++) {
    const key = `p${i}`
    // Two projects may share a repository.
    const repository = random.chance(0.6) ? `repo-${random.int(1, 2)}` : undefined
    const max_writers = random.chance(0.5) ? 1 : random.int(2, 3)
    const body = { key, name: key, max_writers, ...(repository === undefined ? {} : { repository }) }
    const { body: made } = await insist(world, 'POST', '/api/projects', { body })
    projects.push({ key, id: made.id, repository })
  }
  const keys = projects.map(({ key }) => key)
  const runners: RunnerMade[] = []
  for (let i = 1; i <= plan.runners; i++) {
    const body = runnerOf(`r${i}`, keys, i === 1, random)
    const { body: made } = await insist(world, 'POST', '/api/runners', { body })
    runners.push({ id: body.id, token: made.token, capacity: body.capacity })
  }
  const viewer = { name: 'confined', roles: ['viewer'], projects: [keys[0]!] }
  const confined = await insist(world, 'POST', '/api/tokens', { body: viewer })
  return { projects, runners, confinedToken: confined.body.token }
}

/** The first runner may take anything, so that in the calm nothing waits for a runner that never comes. */
export function runnerOf(id: string, keys: readonly string[], isForAll: boolean, random: Random) {
  return {
    id,
    allowed_projects: isForAll || random.chance(0.6) ? ['*'] : [random.pick(keys)],
    labels: isForAll ? [...LABELS] : LABELS.filter(() => random.chance(0.5)),
    capacity: random.int(1, 3),
    trusted: isForAll || random.chance(0.5),
  }
}

async function insist(world: World, method: Method, pattern: string, rest: Partial<Call>): Promise<Heard> {
  for (;;) {
    const heard = await world.network.call({ by: 'admin', token: world.adminToken, method, pattern, ...rest })
    if (heard.status === 201) return heard
    if (heard.status > 0)
      throw new Error(`${method} ${pattern} was answered ${heard.status} ${JSON.stringify(heard.body)}`)
    await world.timeline.pass(50)
  }
}
