import t from 'tap'
import { decisionIn, PROMPT_CHARS_MAX, promptIn, providerIn } from '../../machines/agent-answer.ts'
import { initiativeModule } from '../../machines/initiative.ts'
import type { OwnFact } from '../../machines/machine.ts'
import { deciding, judge } from './initiative-samples.ts'
import { step } from './step.ts'

t.test('a decision is read as an object, or as a bare word with its members beside it', (t) => {
  const said = { decision: 'done', reason: 'all holds' }
  t.strictSame(decisionIn({ decision: said, reason: 'beside it' }), said)
  t.strictSame(decisionIn(said), said)
  t.equal(decisionIn({ reason: 'none' }), undefined)
  t.equal(decisionIn({ decision: 7 }), 7, 'anything else is for the later check to reject')
  t.end()
})

t.test('the provider is a name, cut to length', (t) => {
  t.equal(providerIn({ agent_provider: 'acme-ai' }), 'acme-ai')
  t.equal(providerIn({ agent_provider: 'x'.repeat(500) })!.length, 128)
  for (const agent_provider of ['', 7, null, undefined]) t.equal(providerIn({ agent_provider }), undefined)
  t.end()
})

t.test('the prompt is the one that the run reports, else the one that was handed out', (t) => {
  t.equal(promptIn({ prompt: 'as shown' }, 'as sent'), 'as shown')
  const longest = 'x'.repeat(PROMPT_CHARS_MAX)
  t.equal(promptIn({ prompt: longest }, 'as sent'), longest)
  for (const prompt of [`${longest}x`, '', 7, undefined]) t.equal(promptIn({ prompt }, 'as sent'), 'as sent')
  t.equal(promptIn({}, undefined), undefined)
  t.end()
})

t.test('an assessment states its prompt up to the same length as a formation', (t) => {
  const told = (prompt: string) => {
    const { facts } = step(initiativeModule, deciding({ decision: 'wait', prompt }), judge(6))
    const steered = facts.find(({ type }) => type === 'initiative_steered') as OwnFact
    return (steered.payload as { readonly prompt: string }).prompt
  }
  const longest = 'x'.repeat(PROMPT_CHARS_MAX)
  t.equal(told(longest), longest)
  t.not(told(`${longest}x`), `${longest}x`)
  t.end()
})
