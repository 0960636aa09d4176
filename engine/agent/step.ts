/** The next step of a campaign or an initiative: the agent looks at trunk and decides. Nothing that it changes there is kept. */
import { decisionIn } from './answer.ts'
import { campaignGates } from './gate.ts'
import { notThere } from './outcome.ts'
import { stepPrompt } from './prompts.ts'
import type { Run } from './run.ts'
import { programOf, runSession } from './session.ts'
import { endOf } from './tail.ts'

/**
 * Concludes with the agent's advice. One that decides nothing is told as it is: the service hands that to its owner. Resolves to
 * whether the agent has done its part.
 */
export async function decide(run: Run): Promise<boolean> {
  const { settings, work, report, stop } = run
  const gate_results = await campaignGates(run)
  if (stop.isMade) return false
  const prompt = stepPrompt(work, gate_results)
  const { isDone, isThere, text, how, complaint } = await runSession(run, prompt)
  if (stop.isMade) return false
  const message = endOf(`${how}: ${text || complaint}`)
  if (isDone) {
    const decision = decisionIn(text)
    const advice = { decision, gate_results, agent_provider: programOf(settings.agent), prompt }
    report.result(decision ? advice : { ...advice, errors: [message] })
  } else report.failure(isThere ? { class: 'execution', code: 'agent_failed', message } : notThere(message))
  return isDone
}
