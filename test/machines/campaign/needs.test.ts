import t from 'tap'
import { calledFor, needIn, needOf, wordsOf } from '../../../machines/campaign/needs.ts'
import { campaignModule as module } from '../../../machines/campaign.ts'
import { states } from '../campaign-samples.ts'
import { at, step } from '../step.ts'

const STATES = states()
const MOVES = {
  advance: { type: 'advance' },
  resume: { type: 'resume' },
  'resume with more': { type: 'resume', add_cycles: 1 },
  decide: { type: 'decide', decision: 'net' },
}

t.test('the need that a campaign states is a move that its chart takes', (t) => {
  const takes = (name: string, move: keyof typeof MOVES): boolean => {
    const { refused, repeat } = step(module, STATES[name]!, at(60, MOVES[move]))
    return refused === undefined && repeat === undefined
  }
  for (const [name, snapshot] of Object.entries(STATES)) {
    const need = needIn(snapshot)
    if (need?.is === 'advance') t.ok(takes(name, 'advance'), name)
    if (need?.is === 'resume') t.equal(takes(name, 'resume'), !need.lacksCycles, name)
    if (need?.is !== 'escalated') continue
    t.equal(takes(name, 'decide'), !need.isPaused, name)
    if (need.asks === 'cycles') t.ok(takes(name, 'resume with more'), name)
    else if (need.isPaused) t.ok(takes(name, 'resume'), name)
  }
  t.end()
})

t.test('a question comes before a spent budget', (t) => {
  const before = STATES['escalated by a cycle']!
  const spent = { ...before, context: { ...before.context, max_cycles: before.context.cycles_completed } }
  t.match(needIn(spent), { is: 'escalated', asks: 'answer' })
  t.match(module.document(spent), { needs: 'answer the question of its last cycle' })
  t.equal(step(module, spent, at(60, MOVES.decide)).refused, undefined)
  t.end()
})

t.test('a person is called when a campaign is escalated, or paused by a provider without an end', (t) => {
  const standing = { isIdle: true, cyclesLeft: 1 }
  const called = (status: string, paused?: { by: string; until?: string; escalated?: string }) =>
    calledFor(needOf({ ...standing, status, paused }))
  t.equal(called('escalated'), 'escalated')
  t.equal(called('paused', { by: 'owner', escalated: 'the price' }), 'escalated')
  t.equal(called('paused', { by: 'provider' }), 'paused')
  t.equal(called('paused', { by: 'provider', until: '2030-01-01T00:00:00Z' }), undefined)
  t.equal(called('paused', { by: 'owner' }), undefined)
  for (const status of ['staged', 'active', 'cancelling', 'completed', 'cancelled']) t.equal(called(status), undefined)
  t.end()
})

t.test('each need has its words, and a paused campaign’s say what comes after', (t) => {
  const words = (more: object) => wordsOf(needOf({ status: 'paused', isIdle: true, cyclesLeft: 1, ...more })!)
  const paused = { by: 'owner', escalated: 'the price' }
  t.equal(words({ paused: { by: 'owner' } }), 'resume it when it should continue')
  t.equal(words({ paused: { by: 'owner' }, cyclesLeft: 0 }), 'resume it with more cycles when it should continue')
  t.equal(words({ paused, question: {} }), 'resume it, then answer the question of its last cycle')
  t.equal(words({ paused }), 'resume it, then it is still escalated')
  t.equal(words({ paused, cyclesLeft: 0 }), 'resume it with more cycles, complete it or cancel it')
  t.equal(words({ status: 'staged' }), 'advance it: it has not begun')
  t.equal(words({ status: 'active' }), 'advance it: nothing is under way')
  t.end()
})
