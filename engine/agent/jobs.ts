/**
 * The kinds of work that change a project, by their entry event: in which words the agent is asked for it, and which
 * events state its beginning and its outcome. All are done the same way; only these differ.
 */
import { TASK_VERDICT } from '../task-verdict.ts'
import type { TaskResult } from './outcome.ts'

type Payload = Readonly<Record<string, unknown>>

export interface Job {
  /** The event that says where it is worked on. */
  readonly started: string
  /** The event that states its outcome, and so settles its item. */
  readonly completed: string
  /**
   * What the agent is asked to do; its first line also describes the commit. Empty if the request does not say that.
   * `objective`: in the requester's words, or the brief's; may be empty.
   */
  readonly ask: (objective: string, payload: Payload) => string
  /** What more the agent is told; undefined if there is nothing. */
  readonly context: (payload: Payload) => unknown
  /** The outcome as the payload of `completed`. */
  readonly tell: (result: TaskResult, payload: Payload) => object
}

const MAINTENANCE = `What the project does for its users stays as it is. Unless something else is asked for above:
- Update its dependencies within their major version, those with known vulnerabilities first, and repair what that breaks.
- Leave new major versions: each is a task of its own. Name those that are due in your answer.
- Do not weaken a check to make it pass.
- If nothing is due, change nothing, and say so.`

const REMEDIATION = `See for yourself first whether the project is affected: by a dependency, also an indirect one, or by its own code.
- If it is not, change nothing, and say why.
- If it is, make the smallest change that removes the vulnerability: the nearest version of the dependency that is fixed,
  or, if there is none, another way to do without it. For code of the project's own, add a test that fails without the fix.
- Do not silence a scanner or weaken a check.
- Say in your answer what was affected, and how you removed it.`

export const TASK: Job = {
  started: 'task_run_started',
  completed: TASK_VERDICT,
  ask: (objective) => objective,
  context: ({ context }) => context,
  tell: (result) => result,
}

const maintenance: Job = {
  started: 'task_run_started',
  completed: 'project_maintenance_completed',
  ask: (objective) => `Maintain this project${objective === '' ? '' : `: ${objective}`}\n\n${MAINTENANCE}`,
  context: ({ context }) => context,
  tell: (result) => ({
    ...result,
    workflow: 'maintain',
    changes: result.preservation_ref !== undefined,
    summary: inOneText(result),
  }),
}

const remediation: Job = {
  started: 'remediation_started',
  completed: 'remediation_completed',
  ask: (objective, payload) => {
    const more = objective === '' ? '' : `${objective}\n\n`
    const found = payload.dirty === false ? 'An audit of its main branch found it clean.\n' : ''
    return `Remove the vulnerability ${cveOf(payload)} from this project\n\n${more}${found}${REMEDIATION}`
  },
  // What the audit has found.
  context: ({ item_id: _, objective: _o, base_ref: _b, ...found }) => found,
  tell: (result, payload) => ({ ...result, cve: cveOf(payload), summary: inOneText(result) }),
}

/** By entry event. All others are refused. */
export const JOBS: ReadonlyMap<string, Job> = new Map([
  ['execution_requested', TASK],
  ['maintenance_requested', maintenance],
  ['main_branch_audited', remediation],
])

function cveOf({ cve }: Payload): string {
  return typeof cve === 'string' && cve !== '' ? cve : 'unknown'
}

/**
 * The outcome in one text, which is all that such an item shows of it: first where the work is, as its end may be cut
 * off.
 */
function inOneText({
  landed,
  summary,
  preservation_ref,
  diagnosis,
  finding,
  options = [],
  detail,
}: TaskResult): string {
  const where = landed || preservation_ref === undefined ? undefined : `the work is in ${preservation_ref}`
  const question = finding === undefined ? undefined : [finding, ...options].join('\n- ')
  const all = [
    summary === finding ? undefined : summary,
    where,
    diagnosis,
    question,
    detail === summary ? undefined : detail,
  ]
  return all.filter((one) => one !== undefined && one !== '').join('\n')
}
