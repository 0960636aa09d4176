/** The next step of a campaign or an initiative: the agent looks at trunk and decides. Its changes are not kept. */
import { NOT_BEGUN } from '../../machines/run-request/failure.ts'
import { decisionIn } from './answer.ts'
import { campaignGates } from './gate.ts'
import { notThere } from './outcome.ts'
import { stepPrompt } from './prompts.ts'
import type { Run } from './run.ts'
import { programOf, runSession } from './session.ts'
import { endOf } from './tail.ts'

/**
 * Reports the agent's decision. An answer without one is passed on as it is, and the service shows it to the owner.
 * Resolves to whether the agent succeeded.
 */
export async function decide(run: Run): Promise<boolean> {
  const { settings, work, report, stop } = run
  const gate_results = await campaignGates(run)
  if (stop.isMade) return false
  const prompt = stepPrompt(work, gate_results)
  const { isDone, isThere, limit, text, how, complaint } = await runSession(run, prompt)
  if (stop.isMade) return false
  const message = endOf(`${how}: ${text || complaint}`)
  if (isDone) {
    const decision = decisionIn(text)
    const advice = { decision, gate_results, agent_provider: programOf(settings.agent), prompt }
    report.result(decision ? advice : { ...advice, errors: [message] })
  } else if (limit !== undefined) {
    const { code, message: words, retry_after } = limit
    report.result({ retry_after, failure: { class: NOT_BEGUN, code, message: words } })
  } else report.failure(isThere ? { class: 'execution', code: 'agent_failed', message } : notThere(message))
  return isDone
}
