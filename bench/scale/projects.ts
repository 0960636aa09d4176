/** What a call costs against the number of projects with work waiting, which are served in turn. */
import { Child } from '../child.ts'
import type { Context } from '../question.ts'
import { Service } from '../service.ts'
import { costPoint, operations, type Setup, warmUp } from './costs.ts'
import type { Curve, Point } from './curve.ts'

const SIZES = [1, 10, 100, 1_000, 10_000]
const RUNNERS = 16
const CYCLE = 'a call of the six-call cycle'

async function setupOf(context: Context): Promise<Setup> {
  const service = await Service.start(context.scratch.home())
  await service.createProject('bench')
  return { service, runners: await service.createRunners('runner', RUNNERS), project: 'bench', samples: [] }
}

export async function projects(context: Context): Promise<Curve> {
  const [setup, control] = [await setupOf(context), await setupOf(context)]
  const load = new Child('./load-client.js')
  const points: Point[] = []
  try {
    for (const side of [setup, control]) await warmUp(load, side, [CYCLE])
    let count = 0
    for (const size of context.quick ? SIZES.slice(0, -2) : SIZES) {
      context.say(`${size} projects with work`)
      await setup.service.createProjectsWithWork('waiting', count, size - count)
      count = size
      points.push(await costPoint(context, load, 'projects', size, setup, control, operations[CYCLE]))
    }
  } finally {
    await Promise.all([load.stop(), setup.service.stop(), control.service.stop()])
  }
  return {
    name: 'projects',
    title: 'Cost of a call against the projects with work waiting',
    xLabel: 'projects, each with a run request that waits',
    unit: 'server CPU, us a call',
    series: [{ name: CYCLE, points }],
    notes: [],
    facts: [],
  }
}
